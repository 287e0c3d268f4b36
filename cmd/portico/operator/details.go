package operator

import (
	"fmt"
	"io"
	"time"

	"portico/cmd/portico/terminal"
)

// details writes the properties of one object, a line each, without empty ones.
type details struct {
	*serviceCommand
	to io.Writer
}

func (p details) text(name, value string) {
	if value != "" {
		fmt.Fprintf(p.to, "%-13s %s\n", name, terminal.Clean(value))
	}
}

func (p details) styled(name, value string, style terminal.Style) {
	fmt.Fprintf(p.to, "%-13s %s\n", name, p.out.In(style, terminal.Clean(value)))
}

func (p details) time(name string, t *time.Time) {
	if t != nil {
		p.text(name, when(*t, p.format, time.Now()))
	}
}
