// SPDX-License-Identifier: Apache-2.0

package rotation

// What an effect declares that it writes, in words that the laws of a rotation table reason with. Each names the
// object's kind and what of it is written.
const (
	WriteAnchor         = "pool:anchor"
	WriteAnchorRenewed  = "pool:anchor-renewed"
	WriteMode           = "pool:rotation-mode"
	WriteMirror         = "pool:mirror"
	WriteLastRotation   = "pool:last-rotation-at"
	WriteLastFailure    = "pool:last-failure-at"
	WriteAnchorCleared  = "pool:anchor-cleared"
	WriteSurgeClaim     = "claim:surge-claim"
	WriteReleased       = "claim:released-at"
	WriteProtection     = "node:protection"
	WriteCordon         = "node:cordon"
	WriteHostProtection = "host:protection"
	WriteUnfreeze       = "node:unfreeze"
	WritePlaceholder    = "pod:create"
	WritePodDelete      = "pod:delete"
	WriteDelete         = "claim:delete"
	WriteReap           = "surge-claim:delete"
)

// WriteStatePrefix begins the declaration of a write of the claim's state; the state follows, nothing for the
// empty one.
const WriteStatePrefix = "claim:state="

// WriteState declares a write of the claim's state.
func WriteState(state string) string { return WriteStatePrefix + state }
