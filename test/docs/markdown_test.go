package docs

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// block is a fenced code block: the text after its fence, and its lines.
type block struct{ info, text string }

// page is a Markdown page, read as far as the tests need it.
type page struct {
	prose  string   // the text less code and comments
	blocks []block  // fenced code
	code   []string // code spans, and lines of indented code
	slugs  []string // the fragments by which its headings are reached
}

var (
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	fence    = regexp.MustCompile("^ *```(.*)$")
	heading  = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	target   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func readPage(text string) page {
	var p page
	var prose []string
	var open *block
	for line := range strings.Lines(comment.ReplaceAllString(text, "")) {
		line = strings.TrimSuffix(line, "\n")
		if match := fence.FindStringSubmatch(line); match != nil {
			if open == nil {
				open = &block{info: strings.TrimSpace(match[1])}
			} else {
				p.blocks, open = append(p.blocks, *open), nil
			}
			continue
		}
		if open != nil {
			open.text += line + "\n"
			continue
		}
		if strings.HasPrefix(line, "    ") {
			p.code = append(p.code, line)
			continue
		}
		if match := heading.FindStringSubmatch(line); match != nil {
			p.slugs = append(p.slugs, slug(match[1], p.slugs))
		}
		prose = append(prose, line)
	}
	for paragraph := range strings.SplitSeq(strings.Join(prose, "\n"), "\n\n") {
		for _, span := range codeSpan.FindAllString(paragraph, -1) {
			p.code = append(p.code, strings.Trim(span, "`"))
		}
		p.prose += codeSpan.ReplaceAllString(paragraph, "") + "\n\n"
	}
	return p
}

// slug returns the fragment that GitHub gives a heading: its text without marks, in
// lower case, with hyphens for spaces, and a number if the fragment is taken.
func slug(text string, taken []string) string {
	text = linkText.ReplaceAllString(text, "$1")
	base := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	unique := base
	for n := 1; slices.Contains(taken, unique); n++ {
		unique = fmt.Sprintf("%s-%d", base, n)
	}
	return unique
}

// relativeLinks returns the targets of a page's links, except URLs.
func relativeLinks(p page) []string {
	var links []string
	for _, match := range target.FindAllStringSubmatch(p.prose, -1) {
		if to, err := url.Parse(match[1]); err != nil || to.Scheme == "" {
			links = append(links, match[1])
		}
	}
	return links
}

// brokenLinks returns the broken relative links of a page, each with the reason, and the
// number of all.
func brokenLinks(root fs.FS, name string) (broken []string, links int, err error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, 0, err
	}
	own := readPage(string(text))
	for _, link := range relativeLinks(own) {
		links++
		if why := leadsNowhere(root, name, own, link); why != "" {
			broken = append(broken, fmt.Sprintf("%s: %s: %s", name, link, why))
		}
	}
	return broken, links, nil
}

func leadsNowhere(root fs.FS, from string, own page, link string) string {
	file, fragment, hasFragment := strings.Cut(link, "#")
	to := own
	if file != "" {
		found := path.Join(path.Dir(from), file)
		info, err := fs.Stat(root, found)
		if err != nil {
			return "there is no such file"
		}
		if !hasFragment {
			return ""
		}
		if info.IsDir() || path.Ext(found) != ".md" {
			return "only a page has headings"
		}
		text, err := fs.ReadFile(root, found)
		if err != nil {
			return err.Error()
		}
		to = readPage(string(text))
	}
	if !slices.Contains(to.slugs, fragment) {
		return "there is no such heading"
	}
	return ""
}

func TestSlugs(t *testing.T) {
	var taken []string
	for _, row := range []struct{ text, want string }{
		{"Two commands", "two-commands"},
		{"What is checked, and what is not", "what-is-checked-and-what-is-not"},
		{"`server.tls`", "servertls"},
		{"Sweep: an estate, and drift", "sweep-an-estate-and-drift"},
		{"the [README](README.md)", "the-readme"},
		{"snake_case & co", "snake_case--co"},
		{"Two commands", "two-commands-1"},
		{"Two commands", "two-commands-2"},
	} {
		got := slug(row.text, taken)
		if got != row.want {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
		taken = append(taken, got)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	root := fstest.MapFS{
		"a.md": {Data: []byte("# Top\n\n[here](#top) [page](docs/b.md#two-words) [file](docs/c.txt) [folder](docs) [away](https://example.com/#x)\n\n" +
			"![picture](docs/missing.svg) [no heading](#bottom) [none there](docs/b.md#code) [no page](docs/c.txt#x)\n\n" +
			"`[code](nowhere)`\n\n    [code](nowhere)\n\n```md\n[code](nowhere)\n```\n<!-- [comment](nowhere) -->\n")},
		"docs/b.md":  {Data: []byte("## Two words\n\n```sh\n# code\n```\n\n[back](../a.md#top)\n")},
		"docs/c.txt": {},
	}
	got, links, err := brokenLinks(root, "a.md")
	want := []string{
		"a.md: docs/missing.svg: there is no such file",
		"a.md: #bottom: there is no such heading",
		"a.md: docs/b.md#code: there is no such heading",
		"a.md: docs/c.txt#x: only a page has headings",
	}
	if err != nil || links != 8 || !slices.Equal(got, want) {
		t.Errorf("%d links, %q, %v", links, got, err)
	}
	if got, links, err := brokenLinks(root, "docs/b.md"); err != nil || links != 1 || len(got) != 0 {
		t.Errorf("%d links, %q, %v", links, got, err)
	}
}
