// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
)

// Place is where something stands in the input. The zero Place is nowhere: a cluster, or the command line.
type Place struct {
	File string
	Line int
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// InputError is one thing that is wrong with the input.
type InputError struct {
	Place Place
	// Message is a sentence: what is wrong, and what to do.
	Message string
}

func (p InputError) Error() string {
	if p.Place.File == "" {
		return p.Message
	}
	return p.Place.String() + ": " + p.Message
}

func problem(at Place, format string, args ...any) error {
	return InputError{at, fmt.Sprintf(format, args...)}
}

// problems collects what is wrong, so that one reading tells all of it.
type problems []error

func (p *problems) add(at Place, format string, args ...any) {
	*p = append(*p, problem(at, format, args...))
}

func (p problems) err() error { return errors.Join(p...) }
