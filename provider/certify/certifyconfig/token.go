package certifyconfig

import (
	"os"
	"strings"

	"portico/config/files"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/provider/certify/contract"
)

// maxToken bounds a token, as servers bound headers.
const maxToken = 16 << 10

// readTokens reads the tokens of the front door's callers.
func (r *reader) readTokens(o *setting.Object) {
	p := &r.c.Portico
	p.URL = strings.TrimSuffix(p.URL, "/")
	r.readToken(o, "tokenFile", r.token[contract.Owner], &p.Owner)
	r.readToken(o, "colleagueTokenFile", r.token[contract.Colleague], &p.Colleague)
	r.readToken(o, "strangerTokenFile", r.token[contract.Stranger], &p.Stranger)
}

func (r *reader) readToken(o *setting.Object, key, file string, into *contract.Token) {
	const allowed = "a readable file with a bearer token on one line, and nothing else; paths are relative to the file that names them"
	at := o.Valid(key)
	if at == nil {
		return
	}
	path := files.RelativeTo(at.File, file)
	name := yamltree.Join(o.Path, key)
	text, err := os.ReadFile(path)
	if err != nil {
		r.Fault(at, name+": "+path+" cannot be read", allowed)
		return
	}
	token := strings.TrimSpace(string(text))
	visible := func(c rune) bool { return c > ' ' && c < 0x7f }
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return !visible(c) }) {
		r.Fault(at, name+": "+path+" contains no token", allowed) // what it holds is not quoted
		return
	}
	into.Raw = token
}
