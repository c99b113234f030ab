// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Said is what a command said, and its exit status.
type Said struct {
	Out, Err string
	Status   int
}

// Run runs a command of the product to its end, with the user's kubeconfig. An exit status other than 0 is no error.
func Run(ctx context.Context, binary, kubeconfig string, arguments ...string) (Said, error) {
	command := exec.CommandContext(ctx, binary, arguments...)
	command.SysProcAttr = childAttributes()
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return Said{}, fmt.Errorf("%s cannot be run: %w", binary, err)
	}
	return Said{out.String(), said.String(), command.ProcessState.ExitCode()}, nil
}
