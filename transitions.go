// SPDX-License-Identifier: Apache-2.0

// Package noderotation embeds the table that holds the semantics of a rotation, and nothing else.
package noderotation

import _ "embed"

// TransitionsFile is the name under which the embedded table reports its own errors.
const TransitionsFile = "transitions.yaml"

// Transitions is the table of §5.3 as it stands in the repository.
//
//go:embed transitions.yaml
var Transitions []byte
