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

// explainedError is a sentence that Explain has made.
type explainedError struct{ error }

// Unwrap is the sentence, and all that it wraps.
func (e *explainedError) Unwrap() error { return e.error }

// Explain turns the answer of an API server to a request of this verb into a sentence for the person who asked. Other
// errors, and what is such a sentence already, stay as they are.
func Explain(verb string, err error) error {
	var unreachable *url.Error
	var denied *DeniedError
	var explained *explainedError
	switch denial, is := controller.DenialOf(verb, err); {
	case err == nil || errors.As(err, &denied) || errors.As(err, &explained):
		return err
	case is:
		return &DeniedError{Denials: []controller.Denial{denial}, cause: err}
	case apierrors.IsUnauthorized(err):
		return explain("the cluster does not know you: log in anew, or use another kubeconfig or context: %w", err)
	case meta.IsNoMatchError(err):
		return explain("the cluster does not serve what is asked for: %w; install the CRDs of Karpenter and noderotation", err)
	case errors.As(err, &unreachable):
		return explain("the cluster does not answer: %w; check the kubeconfig and the context", err)
	default:
		return err
	}
}

func explain(sentence string, err error) error { return &explainedError{fmt.Errorf(sentence, err)} }
