package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"portico/config"
)

const (
	root = "../.."

	// wholeConfiguration marks a block that is a complete configuration; a part of one is
	// marked only yaml.
	wholeConfiguration = "yaml portico.yaml"
)

// pages are the pages for readers, by their paths from the root.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, pattern := range []string{"docs/*.md", "deploy/*.md", "configs/*.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

// reports are the READMEs of suites, by their paths from the root: contributors read them.
func reports(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"test/*/README.md", "test/*/*/README.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

func readNamed(t *testing.T, name string) (string, page) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), readPage(string(text))
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := 0
	for _, name := range append(pages(t), reports(t)...) {
		broken, links, err := brokenLinks(os.DirFS(root), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range broken {
			t.Error(link)
		}
		all += links
	}
	if all < 100 {
		t.Errorf("only %d links were found", all)
	}
}

// Everybody reads the first two; operators decide by the third. A page of its own, or the
// README of a suite, has what only one reader needs.
func TestPagesAreShort(t *testing.T) {
	for name, most := range map[string]int{"README.md": 150, "SECURITY.md": 90, "docs/evidence.md": 250} {
		text, _ := readNamed(t, name)
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%s has %d lines, of %d at most", name, n, most)
		}
	}
}

// A page more is a page that its reader has to find: it needs a reader of its own.
func TestPagesAreFew(t *testing.T) {
	found, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil || len(found) > 13 {
		t.Errorf("docs has %d pages, of 13 at most: %v", len(found), err)
	}
}

func TestReadmeLinksEveryPage(t *testing.T) {
	_, readme := readNamed(t, "README.md")
	links := relativeLinks(readme)
	for _, name := range pages(t) {
		if name != "README.md" && !slices.Contains(links, name) {
			t.Errorf("README.md does not link %s", name)
		}
	}
}

func TestWholeConfigurationsAreRight(t *testing.T) {
	checked := 0
	for _, name := range pages(t) {
		_, p := readNamed(t, name)
		for _, b := range p.blocks {
			if b.info != wholeConfiguration {
				continue
			}
			checked++
			file := filepath.Join(t.TempDir(), "portico.yaml")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := config.Load(file)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if len(c.Warnings) > 0 {
				t.Errorf("%s: %v", name, c.Warnings)
			}
		}
	}
	if checked == 0 {
		t.Errorf("no block is marked ```%s", wholeConfiguration)
	}
}

// repositoryPath is a file or folder below a folder at the top.
var repositoryPath = regexp.MustCompile(`^[a-z0-9_]+(/[a-z0-9_]+)+(\.[a-z]+)?$`)

// Contributors find each file and folder that the page names.
func TestPathsForContributorsExist(t *testing.T) {
	_, p := readNamed(t, "CONTRIBUTING.md")
	seen := 0
	for _, code := range p.code {
		if !repositoryPath.MatchString(code) {
			continue
		}
		seen++
		if _, err := os.Stat(filepath.Join(root, code)); err != nil {
			t.Error(err)
		}
	}
	if seen < 20 {
		t.Errorf("%d paths were seen", seen)
	}
}

var (
	// command is a call of the program, at the beginning of a line or a code span.
	command = regexp.MustCompile(`(?m)^\s*(?:\$ )?(?:[\w./]*/)?portico ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?`)
	// commandName is how the page of commands, which the program writes, names one.
	commandName = regexp.MustCompile(`(?m)^##+ portico ([a-z-]+(?: [a-z-]+)?)`)
)

func TestCommandsExist(t *testing.T) {
	text, _ := readNamed(t, "docs/commands.md")
	declared := map[string]bool{"completion": true} // cobra's own
	groups := map[string]bool{}
	for _, match := range commandName.FindAllStringSubmatch(text, -1) {
		declared[match[1]] = true
		if group, _, below := strings.Cut(match[1], " "); below {
			groups[group] = true
		}
	}
	shown := map[string]bool{}
	for _, name := range pages(t) {
		_, p := readNamed(t, name)
		for _, b := range p.blocks {
			p.code = append(p.code, b.text)
		}
		for _, code := range p.code {
			for _, match := range command.FindAllStringSubmatch(code, -1) {
				called := match[1]
				if groups[called] && match[2] != "" {
					called += " " + match[2]
				}
				shown[match[1]], shown[called] = true, true
				if !declared[called] {
					t.Errorf("%s: there is no command portico %s", name, called)
				}
			}
		}
	}
	for name := range declared {
		if !shown[name] {
			t.Errorf("no page shows the command portico %s", name)
		}
	}
}

// flag matches a long flag, without its value.
var flag = regexp.MustCompile(`(?:^|[\s(\[` + "`" + `])--([a-z][a-z-]*)`)

// Each flag that a page shows with a command exists.
func TestFlagsExist(t *testing.T) {
	text, _ := readNamed(t, "docs/commands.md")
	common, sections, _ := strings.Cut(text, "\n## portico ")
	known := map[string]string{} // the text on a command, on its subcommands, and on all
	for section := range strings.SplitSeq(sections, "\n## portico ") {
		name, _, _ := strings.Cut(section, "\n")
		known[name] = common + section
	}
	seen := 0
	for _, name := range pages(t) {
		_, p := readNamed(t, name)
		for _, b := range p.blocks {
			p.code = append(p.code, strings.Split(b.text, "\n")...)
		}
		for _, code := range p.code {
			for _, match := range command.FindAllStringSubmatchIndex(code, -1) {
				line, _, _ := strings.Cut(code[match[0]:], "\n")
				line, _, _ = strings.Cut(line, "#")
				section, ok := known[code[match[2]:match[3]]]
				for _, used := range flag.FindAllStringSubmatch(line, -1) {
					seen++
					if ok && !strings.Contains(section, "--"+used[1]) {
						t.Errorf("%s: %s: there is no flag --%s", name, line, used[1])
					}
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d flags were seen", seen)
	}
}
