// Package terminal writes for people at a terminal: tables that fit it, progress bars, and
// what is drawn again and again; and for programs: JSON and YAML.
//
// Nothing that a service answers reaches a terminal as a command to it: characters that
// cannot be seen, or that change the direction of writing, are replaced or escaped.
package terminal
