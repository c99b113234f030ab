// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pointer is what *V must be for V to be kept in a table.
type pointer[V any] interface {
	*V
	client.Object
}

// table holds the objects of one kind, and its indexes. Clones share the maps until one of them writes.
type table[V any, P pointer[V]] struct {
	objects map[Key]*V
	indexes []index[V]
	// every object, in order; made when it is asked for.
	every *shelf[V]
	// writes is how many there were since every was last asked for.
	writes int
	// lent is true while the maps are also another table's.
	lent bool
}

type index[V any] struct {
	field   string
	extract client.IndexerFunc
	shelves map[string]*shelf[V]
}

// shelf is an ordered run of objects. It is never changed: a write makes another one.
type shelf[V any] struct {
	members []*V
	// values is a copy of the members as a list carries them, made once for all who ask.
	values atomic.Pointer[[]V]
}

// list returns the members by value. The slice is shared: nobody may write to it.
func (s *shelf[V]) list() []V {
	if s == nil {
		return nil
	}
	if made := s.values.Load(); made != nil {
		return *made
	}
	values := make([]V, len(s.members))
	for i, m := range s.members {
		values[i] = *m
	}
	s.values.Store(&values)
	return values
}

// mostWrites is through how many writes every object is kept in order once somebody has asked for all of them. If
// nobody does again by then, they are sorted when somebody does.
const mostWrites = 8

func newTable[V any, P pointer[V]](indexes []Index, kind Kind) *table[V, P] {
	t := &table[V, P]{objects: map[Key]*V{}}
	for _, i := range indexes {
		if i.Of == kind {
			t.indexes = append(t.indexes, index[V]{i.Field, i.Extract, map[string]*shelf[V]{}})
		}
	}
	return t
}

func (t *table[V, P]) clone() anyTable {
	t.lent = true
	other := *t
	return &other
}

// own makes the maps this table's alone, before a write.
func (t *table[V, P]) own() {
	if !t.lent {
		return
	}
	t.objects = maps.Clone(t.objects)
	t.indexes = slices.Clone(t.indexes)
	for i := range t.indexes {
		t.indexes[i].shelves = maps.Clone(t.indexes[i].shelves)
	}
	t.lent = false
}

func (t *table[V, P]) get(key Key) client.Object {
	if o, found := t.objects[key]; found {
		return P(o)
	}
	return nil
}

// set puts after in the place of before; either may be nil, for a creation or a removal.
func (t *table[V, P]) set(key Key, before, after client.Object) {
	t.own()
	was, _ := before.(P)
	is, _ := after.(P)
	if is == nil {
		delete(t.objects, key)
	} else {
		t.objects[key] = is
	}
	t.writes++
	if t.every != nil && len(t.every.members) > 0 && t.writes <= mostWrites {
		t.every = t.every.with(key, is, keyOf[V, P])
	} else {
		t.every = nil
	}
	for i := range t.indexes {
		t.indexes[i].move(key, before, after, was, is, keyOf[V, P])
	}
}

func keyOf[V any, P pointer[V]](v *V) Key { return KeyOf(P(v)) }

// move brings the index up to date.
func (i *index[V]) move(key Key, before, after client.Object, was, is *V, keyOf func(*V) Key) {
	var from, to []string
	if was != nil {
		from = i.extract(before)
	}
	if is != nil {
		to = i.extract(after)
	}
	for _, value := range from {
		if !slices.Contains(to, value) {
			i.place(value, i.shelves[value].with(key, nil, keyOf))
		}
	}
	for _, value := range to {
		i.place(value, i.shelves[value].with(key, is, keyOf))
	}
}

func (i *index[V]) place(value string, s *shelf[V]) {
	if s == nil {
		delete(i.shelves, value)
	} else {
		i.shelves[value] = s
	}
}

// with is the shelf with the object of this key replaced, added, or taken out if it is nil; nil when nothing is left.
func (s *shelf[V]) with(key Key, object *V, keyOf func(*V) Key) *shelf[V] {
	if s == nil {
		if object == nil {
			return nil
		}
		return &shelf[V]{members: []*V{object}}
	}
	at, found := slices.BinarySearchFunc(s.members, key, func(m *V, key Key) int { return keyOf(m).less(key) })
	head, tail := s.members[:at], s.members[at:]
	if found {
		tail = tail[1:]
	}
	if object == nil {
		if len(head)+len(tail) == 0 {
			return nil
		}
		return &shelf[V]{members: slices.Concat(head, tail)}
	}
	members := make([]*V, 0, len(head)+1+len(tail))
	return &shelf[V]{members: append(append(append(members, head...), object), tail...)}
}

// all is every object, in order.
func (t *table[V, P]) all() *shelf[V] {
	t.writes = 0
	if t.every == nil {
		members := slices.AppendSeq(make([]*V, 0, len(t.objects)), maps.Values(t.objects))
		slices.SortFunc(members, func(a, b *V) int {
			return cmp.Or(cmp.Compare(P(a).GetNamespace(), P(b).GetNamespace()), cmp.Compare(P(a).GetName(), P(b).GetName()))
		})
		t.every = &shelf[V]{members: members}
	}
	return t.every
}

// by is the shelf of a value of an index; the second result is false when there is no such index.
func (t *table[V, P]) by(field, value string) (*shelf[V], bool) {
	for i := range t.indexes {
		if t.indexes[i].field == field {
			return t.indexes[i].shelves[value], true
		}
	}
	return nil, false
}

// anyTable is a table of whichever kind.
type anyTable interface {
	get(key Key) client.Object
	set(key Key, before, after client.Object)
	clone() anyTable
	each(visit func(client.Object))
}

func (t *table[V, P]) each(visit func(client.Object)) {
	for _, m := range t.all().members {
		visit(P(m))
	}
}
