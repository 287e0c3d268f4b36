// Package console is the page of the admin listener: its files, which are in the program,
// and the sessions of those who signed in to it.
//
// The page gets all that it shows from the routes below /admin/ (package
// [portico/gateway/admin/api]). It builds elements and sets their text; no text of a
// client or a provider ever becomes markup, and the policy that goes out with the page
// would not let it.
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

// policy lets the page use its own files and routes, and nothing else. With Trusted Types
// a browser refuses to make markup of a text, too.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

// files are what the page is made of, by their names.
type files map[string]file

type file struct {
	text []byte
	kind string
}

// Files answers GET of the page, at /, and of its files below /console/. They hold no
// data, so they need no session.
func Files() http.Handler {
	all := files{}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic(err) // they are in the program
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
		return "text/javascript; charset=utf-8" // whatever the system's table says
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
	h.Set("Cache-Control", "no-cache") // an upgrade shows at once
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(found.text) // the browser may be gone
}
