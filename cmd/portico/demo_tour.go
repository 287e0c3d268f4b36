package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"portico/config"
)

// walk shows the steps one by one: each line, which a shell runs when the user presses
// Enter, and what to look at in the answers. It ends with ctx, or with the input.
func (d *demo) walk(ctx context.Context, cfg *config.Config, steps []step) {
	set := strings.Join(d.variables(cfg), "\n")
	fmt.Fprintf(d.out, "Each line is shown, and runs when you press Enter. Variables keep them short:\n%s\n", set)
	enter := pressed(ctx, d.in)
	for i, s := range steps {
		fmt.Fprintf(d.out, "\n%d of %d. %s\n", i+1, len(steps), s.title)
		for _, line := range s.lines {
			fmt.Fprintf(d.out, "\n$ %s", line)
			select {
			case <-ctx.Done():
				return
			case _, more := <-enter:
				if !more {
					fmt.Fprintln(d.out)
					return
				}
			}
			c := exec.CommandContext(ctx, "sh", "-c", set+"\n"+line)
			c.Stdout, c.Stderr = d.out, d.out
			if err := c.Run(); err != nil {
				fmt.Fprintf(d.out, "%v", err)
			}
			fmt.Fprintln(d.out)
		}
		if s.look != "" {
			fmt.Fprintln(d.out, s.look)
		}
	}
	fmt.Fprintln(d.out, "\nThe tour is over. The demo serves until Ctrl-C.")
}

// pressed sends for each line of the input, and closes the channel at its end. A read of
// a terminal cannot be interrupted: the reader ends with the input or, after ctx, with
// its next line.
func pressed(ctx context.Context, input io.Reader) <-chan struct{} {
	enter := make(chan struct{})
	go func() {
		defer close(enter)
		for lines := bufio.NewScanner(input); lines.Scan(); {
			select {
			case enter <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return enter
}
