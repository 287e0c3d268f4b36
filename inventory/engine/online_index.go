package engine

import (
	"bytes"
	"io/fs"
	"regexp"
)

// onlineIndexes rewrites migrations that run outside a transaction, so that PostgreSQL
// builds their indexes while other processes write to the tables. SQLite, which only one
// process uses, gets the files unchanged.
type onlineIndexes struct{ fs.FS }

var (
	noTransaction = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION$`)
	createIndex   = regexp.MustCompile(`CREATE INDEX (\w+) ON`)
)

func (f onlineIndexes) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return file, err
	}
	text, err := fs.ReadFile(f.FS, name)
	if err != nil || !noTransaction.Match(text) {
		return file, err
	}
	// An interrupted earlier attempt leaves an invalid index, which has to be dropped.
	text = createIndex.ReplaceAll(text, []byte("DROP INDEX CONCURRENTLY IF EXISTS $1;\nCREATE INDEX CONCURRENTLY $1 ON"))
	return rewritten{file, bytes.NewReader(text)}, nil
}

type rewritten struct {
	fs.File
	text *bytes.Reader
}

func (r rewritten) Read(p []byte) (int, error) { return r.text.Read(p) }
