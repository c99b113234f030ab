// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"noderotation.io/noderotation/controller"
)

// DeniedError says which rights a person lacks for what was asked for.
type DeniedError struct {
	Denials []controller.Denial
	// cause is the API server's answer, where it is at hand.
	cause error
}

func (e *DeniedError) Error() string {
	rights := make([]string, len(e.Denials))
	for i, d := range e.Denials {
		rights[i] = d.String()
	}
	return fmt.Sprintf("you may not %s: ask for a role that allows it, or use another kubeconfig or context", strings.Join(rights, ", nor "))
}

// Unwrap is the API server's answer.
func (e *DeniedError) Unwrap() error { return e.cause }

// Explain turns the answer of an API server to a request of this verb into a sentence for the person who asked. Other
// errors stay as they are.
func Explain(verb string, err error) error {
	var unreachable *url.Error
	var denied *DeniedError
	switch denial, is := controller.DenialOf(verb, err); {
	case err == nil || errors.As(err, &denied):
		return err
	case is:
		return &DeniedError{Denials: []controller.Denial{denial}, cause: err}
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not know you: log in anew, or use another kubeconfig or context: %w", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the cluster does not serve what is asked for: %w; install the CRDs of Karpenter and noderotation", err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("the cluster does not answer: %w; check the kubeconfig and the context", err)
	default:
		return err
	}
}
