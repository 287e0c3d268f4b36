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

A YAML file and the files that it includes. They contain the settings of every
part of the gateway, the map of regions and providers, and the subscriptions that
exist from the start. Only ` + "`server.publicURL`, `server.region` and `regions`" + ` are required.

Reading is strict. An unknown key, an invalid value or a missing endpoint is a
fault, and a configuration with a fault is not used at all. ` + "`portico check`" + ` prints
all faults, each as

    file:line: what is wrong (allowed: what is valid instead)

with exit status 1. If there are none, it prints how the map resolves. Unwise
settings are warnings.

Times are numbers with units: ` + "`500ms`, `5s`, `1h30m`" + `. Sizes are bytes, or whole
numbers with ` + "`KiB`, `MiB` or `GiB`" + `. Paths are relative to the file that contains
them. A key with an empty value counts as absent. Faults never quote hashes, keys
and data sources; these can be in a separate file that is included.

` + "`portico reference`" + ` prints this page, ` + "`portico reference --schema`" + ` a JSON schema
(draft 2020-12) for editors, which complete and check a file as it is written. Name
it in the file's first line:

    # yaml-language-server: $schema=portico.schema.json

The schema requires quotes around texts that YAML would read as numbers or
booleans; the program does not.

A running gateway applies a changed configuration at SIGHUP, at ` + "`POST /admin/reload`" + `
and by itself (` + "`server.watchInterval`" + `), completely or, if there is a fault, not at
all. Settings that need a restart keep their values until then. So do the store,
whether there is ` + "`server.tls`, and that there is `server.adminToken`" + `.

In the names below, ` + "`[]`" + ` follows the name of a list.

## Settings
`

const referenceTail = `
## Environment

**` + "`PGPASSWORD`, `PGPASSFILE`" + `** — the password of a PostgreSQL data source without one.

**` + "`PORTICO_ADMIN`" + `** — the URL of the admin listener for commands, unless ` + "`--admin` or `--config`" + ` names one.

**` + "`PORTICO_ADMIN_TOKEN`" + `** — the token of commands for the admin listener of a running service.

## See also

[example.yaml](example.yaml) contains every setting, [local.yaml](local.yaml) is a
small configuration to begin with, and [configuration](../docs/configuration.md)
explains the sections.
`
