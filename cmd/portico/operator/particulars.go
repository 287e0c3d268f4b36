package operator

import (
	"fmt"
	"io"
	"time"

	"portico/cmd/portico/terminal"
)

// particulars writes what is known of one thing, a line each. What is empty has none.
type particulars struct {
	*asking
	to io.Writer
}

func (p particulars) text(name, value string) {
	if value != "" {
		fmt.Fprintf(p.to, "%-13s %s\n", name, terminal.Clean(value))
	}
}

func (p particulars) styled(name, value string, style terminal.Style) {
	fmt.Fprintf(p.to, "%-13s %s\n", name, p.out.In(style, terminal.Clean(value)))
}

func (p particulars) time(name string, t *time.Time) {
	if t != nil {
		p.text(name, when(*t, p.format, time.Now()))
	}
}
