package regions

import (
	"net/url"
	"testing"
)

func TestRedirectsTo(t *testing.T) {
	p := New(Declaration{Providers: []ProviderDeclaration{{
		Namespace: "Contoso.Files", RedirectHosts: []string{"Files.example", "other.example:8443", "*.blob.example", "*.deep.example:81"},
	}}}).Provider("contoso.files")
	for text, want := range map[string]bool{
		"https://files.example/a": true, "https://FILES.example:443": true, "http://files.example:80/": true, "https://other.example:8443/": true,
		"https://a.blob.example": true, "https://a.b.blob.example": true, "http://x.deep.example:81/": true,
		"https://files.example:80": false, "https://files.example:8443": false, "https://other.example": false, "https://blob.example": false, "https://xblob.example": false,
		"https://x.deep.example": false, "https://a.files.example": false, "https://user@files.example": false, "https:files.example": false, "/files.example": false,
		"//files.example": false, "ftp://files.example": false, "https://files.example.": false, `https://a"b.blob.example`: false, "https://[::1]": false,
	} {
		to, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.RedirectsTo(to); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	nowhere := New(Declaration{Providers: []ProviderDeclaration{{Namespace: "A.B"}}}).Provider("A.B")
	if to, _ := url.Parse("https://files.example"); nowhere.RedirectsTo(to) || nowhere.PassesRequest()["X-A"] || nowhere.PassesAnswer()["X-A"] {
		t.Error("a provider that names nothing")
	}
}
