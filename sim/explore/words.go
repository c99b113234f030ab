// SPDX-License-Identifier: Apache-2.0

package explore

import "fmt"

// String says the step in words.
func (s Step) String() string {
	said := s.Move.String()
	switch s.Fault {
	case NoFault:
		return said
	case Killed, KilledSweeping:
		return fmt.Sprintf("%s, and is killed after write %d", said, s.At)
	case Conflict:
		return fmt.Sprintf("%s; write %d is lost to a conflict", said, s.At)
	case Unanswered:
		return fmt.Sprintf("%s; the answer to write %d is lost", said, s.At)
	case Lag:
		return fmt.Sprintf("%s, and does not see that %s", said, s.Other)
	case OwnLag:
		return fmt.Sprintf("%s, and once more without seeing its own write %d", said, s.At)
	case TwoLeaders:
		return fmt.Sprintf("%s; before its write %d another leader makes a pass", said, s.At)
	case Overtaken:
		return fmt.Sprintf("%s; before its write %d %s, and another leader makes a pass", said, s.At, s.Other)
	case Reborn:
		return fmt.Sprintf("%s, and is killed after write %d; %sanother process begins on NodePools and NodeClaims as they were before", said, s.At, s.later())
	case Unseen:
		return fmt.Sprintf("%s; the answer to write %d is lost, and %sit passes again without seeing that write", said, s.At, s.later())
	default:
		return said
	}
}

// later says that the time of the attempt has run out before the second of two passes.
func (s Step) later() string {
	if s.Other.Verb != Wait {
		return ""
	}
	return "when the attempt's time is over "
}
