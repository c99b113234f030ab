// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// Refusal runs a controller that is to refuse to start, and returns what it says. One that starts all the same is ended
// with ctx; that, and an end that claims success, are errors.
func Refusal(ctx context.Context, options Options) (said string, err error) {
	command := exec.CommandContext(ctx, options.Binary, options.arguments("0", "0")...)
	command.SysProcAttr = childAttributes()
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(output), errors.New("the controller ended without an error")
	case !errors.As(err, &exit):
		return string(output), fmt.Errorf("the controller cannot be run: %w", err)
	case !exit.Exited():
		return string(output), fmt.Errorf("the controller did not refuse to start: %w", exit)
	}
	return string(output), nil
}
