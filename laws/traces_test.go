// SPDX-License-Identifier: Apache-2.0

package laws_test

import "slices"

func illegalTraces() []illegal {
	return slices.Concat(tracesLeft(), protectionLost(), roomKept())
}

func tracesLeft() []illegal {
	return []illegal{
		{"a finished rotation leaves its protection on the surge node",
			[]edit{dropping("drained", "do", "unfreeze")},
			[]breach{{"cleanup", "drained", "do", "it clears the anchor while something of the rotation may be left in the cluster; put unfreeze before clear_anchor"}}},
		{"a rotation that is taken back leaves everything",
			[]edit{dropping("pending-governance-lost", "do", "delete_placeholder", "unfreeze")},
			[]breach{{"cleanup", "pending-governance-lost", "do", "it clears the anchor while something of the rotation may be left in the cluster; put delete_placeholder and unfreeze before clear_anchor"}}},
		{"an expiry cut short leaves the placeholder",
			[]edit{dropping("expired-release", "do", "delete_placeholder")},
			[]breach{{"cleanup", "expired-release", "do", "it clears the anchor while something of the rotation may be left in the cluster; put delete_placeholder before clear_anchor"}}},
		{"the protection is taken back only after the anchor is cleared",
			[]edit{dropping("drained", "do", "unfreeze"), putting("drained", "do", "unfreeze", "announce_drained")},
			[]breach{
				{"cleanup", "drained", "do", "it clears the anchor while something of the rotation may be left in the cluster; put unfreeze before clear_anchor"},
				{"clear-last", "drained", "do", "unfreeze writes after the anchor is cleared, and a crash between the two would lose it; put it before clear_anchor"},
			}},
		{"the old node is cordoned again on the way out",
			[]edit{putting("pending-claim-gone", "do", "cordon", "announce_expired")},
			[]breach{{"cleanup", "pending-claim-gone", "do", "cordon undoes what unfreeze does before it; remove cordon"}}},
		{"the induced claim is not reaped",
			[]edit{dropping("pending-timed-out", "do", "reap")},
			[]breach{{"cleanup", "pending-timed-out", "do", "it fails an attempt and does not remove the claim that this induced while the placeholder tells which it is; put reap before delete_placeholder"}}},
		{"the induced claim is looked for without its placeholder",
			[]edit{dropping("pending-timed-out", "do", "reap"), putting("pending-timed-out", "do", "reap", "unfreeze")},
			[]breach{{"cleanup", "pending-timed-out", "do", "it fails an attempt and does not remove the claim that this induced while the placeholder tells which it is; put reap before delete_placeholder"}}},
	}
}

func protectionLost() []illegal {
	return []illegal{
		{"waiting does not re-assert the protection",
			[]edit{dropping("pending-wait", "do", "freeze")},
			[]breach{{"protected", "pending-wait", "do", "it stays in pending and does not see to the old node's protection; add freeze"}}},
		{"a held rotation re-asserts neither protection nor cordon",
			[]edit{dropping("pending-held", "do", "freeze", "cordon")},
			[]breach{{"protected", "pending-held", "do", "it stays in pending and does not see to the old node's protection; add freeze and cordon"}}},
		{"waiting takes protection and cordon back",
			[]edit{putting("pending-wait", "do", "unfreeze", "")},
			[]breach{
				{"protected", "pending-wait", "do", "unfreeze undoes what freeze does before it; remove unfreeze"},
				{"protected", "pending-wait", "do", "unfreeze undoes what cordon does before it; remove unfreeze"},
			}},
		{"the drain begins with the surge node unprotected",
			[]edit{dropping("drain", "do", "freeze_host")},
			[]breach{{"protected", "drain", "do", "it begins the drain with the surge node unprotected; put freeze_host before delete"}}},
		{"the surge node is protected only after the delete",
			[]edit{dropping("drain", "do", "freeze_host"), putting("drain", "do", "freeze_host", "delete_placeholder")},
			[]breach{{"protected", "drain", "do", "it begins the drain with the surge node unprotected; put freeze_host before delete"}}},
		{"the surge node's protection is taken back at once",
			[]edit{putting("drain", "do", "unfreeze", "delete")},
			[]breach{{"protected", "drain", "do", "unfreeze undoes what freeze_host does before it; remove unfreeze"}}},
	}
}

func roomKept() []illegal {
	return []illegal{
		{"the placeholder keeps its room when the drain begins",
			[]edit{dropping("drain", "do", "delete_placeholder")},
			[]breach{{"handed-over", "drain", "do", "it does not hand the placeholder's room to the drained Pods; put delete_placeholder after delete"}}},
		{"the room is given away before the drain has begun",
			[]edit{dropping("drain", "do", "delete_placeholder"), putting("drain", "do", "delete_placeholder", "delete")},
			[]breach{{"handed-over", "drain", "do", "it does not hand the placeholder's room to the drained Pods; put delete_placeholder after delete"}}},
		{"draining is entered without a delete",
			[]edit{dropping("drain", "do", "delete")},
			[]breach{{"handed-over", "drain", "do", "it goes from pending to draining and deletes nothing; add delete, and delete_placeholder after it"}}},
		{"a drain that waits leaves a placeholder standing",
			[]edit{dropping("draining-wait", "do", "delete_placeholder")},
			[]breach{{"handed-over", "draining-wait", "do", "it stays in draining, where no placeholder may be left; add delete_placeholder"}}},
		{"a stuck drain leaves a placeholder standing",
			[]edit{dropping("drain-stuck", "do", "delete_placeholder")},
			[]breach{{"handed-over", "drain-stuck", "do", "it stays in draining, where no placeholder may be left; add delete_placeholder"}}},
		{"a drain that is begun again gets a new placeholder",
			[]edit{putting("redelete", "do", "placeholder", "")},
			[]breach{{"handed-over", "redelete", "do", "placeholder undoes what delete_placeholder does before it; remove placeholder"}}},
	}
}
