package contract

import (
	"strings"
	"sync"
)

// controls create and read one resource of each type, once. A provider that
// cannot do that keeps no rule by refusing everything or by answering
// everything with an empty body.
type controls struct {
	mu    sync.Mutex
	types map[*Type]*control
}

type control struct {
	done      sync.Once
	passed    bool
	obstacles []Fault
}

func (c *controls) controlOf(t *Type) *control {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.types == nil {
		c.types = map[*Type]*control{}
	}
	if c.types[t] == nil {
		c.types[t] = &control{}
	}
	return c.types[t]
}

// passed reports whether resources of the scene's type can be created and read; if not,
// it marks the scene as unreached. The first scene of a type tries.
func (c *controls) passed(s *Scene) bool {
	control := c.controlOf(s.Type)
	control.done.Do(func() {
		first := newScene(s.ctx, *s.Target, trial{on: s.Type}, scenes.Add(1))
		first.play(Case{Run: func(s *Scene) {
			s.created()
			s.prepare(func() {
				read := s.get(s.id).status(200)
				id := text(read.doc, "id") + "/" + text(read.doc, "name")
				read.check(strings.Contains(strings.ToLower(id), "/"+strings.ToLower(nameOf(s.id))), "GET shows the created resource", "%s", read)
			})
			control.passed = true
		}})
		control.obstacles = first.obstacles
	})
	if !control.passed {
		s.unreached, s.obstacles = "no resource of the type can be created and read", control.obstacles
	}
	return control.passed
}
