package config

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteReference writes the reference of the configuration as Markdown: every
// setting that is read, what it is, its default, what may stand there, and
// what it is for.
func WriteReference(w io.Writer) error {
	d, err := describe()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, section := range d.below("") {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", section, d.entry(section))
		for _, path := range d.under(section) {
			fmt.Fprintf(&b, "\n**`%s`** — %s\n", d.shown(path), d.entry(path))
		}
	}
	b.WriteString(referenceTail)
	_, err = b.WriteTo(w)
	return err
}

// under returns all paths below a path, each before those below it.
func (d *description) under(path string) []string {
	var all []string
	for _, child := range d.below(path) {
		all = append(append(all, child), d.under(child)...)
	}
	return all
}

// shown is a path with [] after each list.
func (d *description) shown(path string) string {
	var b strings.Builder
	for i, key := range strings.Split(path, ".") {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(key)
		at := strings.Join(strings.Split(path, ".")[:i+1], ".")
		if f := d.settings[at].form; at != path && f == isMappings {
			b.WriteString("[]")
		}
	}
	return b.String()
}

// entry is what is said of one setting: what it is, its default, its meaning,
// what is allowed.
func (d *description) entry(path string) string {
	said := []string{d.what(path)}
	preset, written := d.preset(path)
	switch {
	case d.settings[path].needed:
		said = append(said, "required")
	case written:
		said = append(said, "default `"+preset+"`")
	case preset != "":
		said = append(said, "default: "+preset)
	case d.settings[path].form == isScalar:
		said = append(said, "not set by default")
	}
	if d.settings[path].form == isScalar && slices.ContainsFunc(standings(), func(s standing) bool { return s.path == path }) {
		said = append(said, "needs a restart")
	}
	text := d.meanings[path].text
	if len(said) > 1 || said[0] != "mapping" { // what a mapping is shows from what is in it
		text = strings.Join(said, "; ") + ".  \n" + text
	}
	if allowed := d.allowed(path); allowed != "" {
		text += "  \nAllowed: " + allowed + "."
	}
	return text
}

// what names the kind of a setting.
func (d *description) what(path string) string {
	s := d.settings[path]
	switch s.form {
	case isMapping:
		if s.word != "" {
			return "mapping, or `" + s.word + "`"
		}
		return "mapping"
	case isList:
		return "list; items: " + s.noun
	case isMappings:
		return "list of mappings"
	case isAddresses:
		return s.noun
	}
	switch {
	case len(s.shape.words) > 0 && s.shape.other == "":
		return "one word"
	case strings.HasPrefix(s.noun, "data source"):
		return "data source"
	}
	return s.noun
}

const referenceHead = `<!-- Generated from the code: go test ./config -run TestReference -update -->

# portico.yaml(5)

## Name

portico.yaml — the configuration of Portico

## Synopsis

    portico check --config portico.yaml
    portico serve --config portico.yaml

## Description

One YAML file, with what it includes. It holds the settings of every part of
the gateway, the map of regions and providers, and the subscriptions that exist
from the start. Only ` + "`server.publicURL`, `server.region` and `regions`" + ` have to be there.

Reading is strict. A key that means nothing, a value that cannot be, an endpoint
that is missing: each is a fault, and a configuration with a fault is not used
in any part. ` + "`portico check`" + ` prints all of them, each as

    file:line: what is wrong (allowed: what may stand there)

with exit status 1; where there are none it prints how the map resolves. What is
merely unwise is a warning.

Times are numbers with units: ` + "`500ms`, `5s`, `1h30m`" + `. Sizes are bytes, or whole
numbers with ` + "`KiB`, `MiB` or `GiB`" + `. Paths are relative to the file in which they
stand. A key whose value is empty counts as absent. Faults never quote hashes,
keys and data sources; these can stand in a file of their own that is included.

` + "`portico reference`" + ` prints this page, ` + "`portico reference --schema`" + ` a JSON schema
(draft 2020-12) by which editors complete and check a file as it is written. Name
it in the file's first line:

    # yaml-language-server: $schema=portico.schema.json

The schema wants texts quoted that YAML would read as numbers or truth values;
the program does not.

A running gateway takes a changed configuration over at SIGHUP, at ` + "`POST /admin/reload`" + `
and by itself (` + "`server.watchInterval`" + `), as a whole or, where there is a fault, not
at all. What is said below to need a restart stays as it was until then, as do
the store, whether there is ` + "`server.tls`, and that there is `server.adminToken`" + `.

In the names below, ` + "`[]`" + ` stands after what is a list.

## Settings
`

const referenceTail = `
## Environment

**` + "`PGPASSWORD`, `PGPASSFILE`" + `** — the password of a PostgreSQL data source that names none.

**` + "`PORTICO_ADMIN_TOKEN`" + `** — the token with which ` + "`portico sweep`" + ` calls the admin listener.

## See also

[example.yaml](example.yaml) shows every setting in its place,
[local.yaml](local.yaml) is a small configuration to begin with, and the
page on [configuration](../docs/configuration.md) tells what the parts do.
`
