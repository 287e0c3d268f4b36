// Package console is the web page of the admin listener: its embedded files, and the sessions
// of the browsers that signed in.
//
// The page gets all its data from the routes below /admin/ (package
// [portico/gateway/admin/api]). It builds elements and sets their text, so that no text of a
// client or a provider becomes markup; the page's content security policy enforces that.
package console

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
)

//go:embed assets
var assets embed.FS

// policy lets the page use only its own files and routes. Trusted Types make a browser refuse
// to turn text into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

// files are the files of the page by their names.
type files map[string]file

type file struct {
	text []byte
	kind string
}

// Files returns the handler of the page, at /, and of its files below /console/. They hold no
// data, so they need no session.
func Files() http.Handler {
	all := files{}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, e := range entries {
		text, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		all[e.Name()] = file{text, kindOf(e.Name())}
	}
	return all
}

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8" // not the system's table, which may differ
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "index.html"
	if r.URL.Path != "/" {
		name = path.Base(r.URL.Path)
	}
	found, ok := f[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("Content-Length", strconv.Itoa(len(found.text)))
	h.Set("Cache-Control", "no-cache") // so that an upgrade shows at once
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(found.text) // the browser may be gone
}
