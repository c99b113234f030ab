// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"runtime"
	"sync"
	"weak"
)

// shared holds one value for all who have an equal one, as long as anybody has it. What is shared is never changed. Safe
// for concurrent use.
type shared[T any] struct {
	mu   sync.Mutex
	have map[string]weak.Pointer[T]
}

// of is the value that says what text says: the one that somebody has already, else the one that is handed in.
func (s *shared[T]) of(text string, value *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := s.have[text].Value(); had != nil {
		return had
	}
	if s.have == nil {
		s.have = map[string]weak.Pointer[T]{}
	}
	s.have[text] = weak.Make(value)
	runtime.AddCleanup(value, s.forget, text)
	return value
}

// forget drops a text whose value nobody has any more. Another value may have taken its place meanwhile.
func (s *shared[T]) forget(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[text].Value() == nil {
		delete(s.have, text)
	}
}
