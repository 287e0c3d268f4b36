package config

import (
	"io"
	"strings"

	"portico/config/files"
	"portico/config/setting"
)

// WriteReference writes the reference of the configuration as Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	setting.WriteReference(&b, new(Config).rows(&files.Reader{}))
	b.WriteString(referenceTail)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSchema writes a JSON schema (draft 2020-12) of one configuration file, for editors. Checks
// that a schema cannot express are left to [Load], such as whether a type has an endpoint in each
// of its locations.
func WriteSchema(w io.Writer) error {
	return setting.WriteSchema(w, "Configuration of Portico", new(Config).rows(&files.Reader{}))
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

**` + "`PORTICO_ADMIN`" + `** — the URL of the admin listener that commands call, unless ` + "`--admin` or `--config`" + ` names one.

**` + "`PORTICO_ADMIN_TOKEN`" + `** — the token with which commands call the admin listener of a running service.

## See also

[example.yaml](example.yaml) shows every setting in its place,
[local.yaml](local.yaml) is a small configuration to begin with, and the
page on [configuration](../docs/configuration.md) tells what the parts do.
`
