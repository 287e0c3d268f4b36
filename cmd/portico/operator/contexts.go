package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// serviceContext is a service that an operator names: where its admin listener is, and which
// file holds its token, never a token.
type serviceContext struct {
	Name  string `yaml:"name"`
	Admin string `yaml:"admin"` // URL of the admin listener
	// TokenFile holds the admin token; CA the authorities that sign the listener's
	// certificate. Both are absolute paths, and may be empty.
	TokenFile string `yaml:"tokenFile,omitempty"`
	CA        string `yaml:"ca,omitempty"`
}

// contextFile is all that is kept.
type contextFile struct {
	// Current is the context that counts where none is named; "": none does.
	Current  string           `yaml:"current,omitempty"`
	Contexts []serviceContext `yaml:"contexts"`
}

// maxContextBytes is more than the size of any real file.
const maxContextBytes = 1 << 20

// contextsPath is where the file is: below $XDG_CONFIG_HOME, or ~/.config.
func contextsPath() (string, error) {
	folder := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) { // a relative one is to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "portico", "contexts.yaml"), nil
}

// loadContextFile reads the file; where there is none it is empty. It refuses a file that other
// users may change, because they could redirect tokens to themselves.
func loadContextFile(path string) (f contextFile, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case info.Mode().Perm()&0o022 != 0:
		return f, fmt.Errorf("%s can be changed by others than its owner: chmod 600 it", path)
	case info.Size() > maxContextBytes:
		return f, fmt.Errorf("%s has more than %d bytes", path, maxContextBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return f, err
	}
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return f, fmt.Errorf("%s: %s", path, firstLine(err))
	}
	return f, nil
}

// firstLine leaves out the text around a fault, which may hold a token that the user put
// in the wrong place.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Save puts the file in the place of the former one, readable by its owner alone.
func (f contextFile) Save(path string) error {
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".contexts.*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // unless it has the file's name by now
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// unknownContextError is the error of a context that is not there.
type unknownContextError struct {
	Name  string
	Known []string
}

func (e *unknownContextError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no context %q, and no other: portico context set NAME --admin URL makes one", e.Name)
	}
	return fmt.Sprintf("there is no context %q; there are: %s", e.Name, strings.Join(e.Known, ", "))
}

// Names are those of all contexts.
func (f contextFile) Names() (names []string) {
	for _, c := range f.Contexts {
		names = append(names, c.Name)
	}
	return names
}

// Find returns a context by its name; *unknownContextError where there is none.
func (f contextFile) Find(name string) (serviceContext, error) {
	if i := f.index(name); i >= 0 {
		return f.Contexts[i], nil
	}
	return serviceContext{}, &unknownContextError{name, f.Names()}
}

func (f contextFile) index(name string) int {
	return slices.IndexFunc(f.Contexts, func(c serviceContext) bool { return c.Name == name })
}

var validContext = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Set adds a context, or replaces the one of its name. The first one is current.
func (f *contextFile) Set(c serviceContext) error {
	if !validContext.MatchString(c.Name) {
		return fmt.Errorf("%q is no name of a context: letters, digits, '.', '_' and '-', 63 at most", c.Name)
	}
	if i := f.index(c.Name); i >= 0 {
		f.Contexts[i] = c
	} else {
		f.Contexts = append(f.Contexts, c)
	}
	if len(f.Contexts) == 1 {
		f.Current = c.Name
	}
	return nil
}

// Use makes a context the current one.
func (f *contextFile) Use(name string) error {
	c, err := f.Find(name)
	if err == nil {
		f.Current = c.Name
	}
	return err
}

// Delete forgets a context. If it is the current one there is none then.
func (f *contextFile) Delete(name string) error {
	if _, err := f.Find(name); err != nil {
		return err
	}
	f.Contexts = slices.DeleteFunc(f.Contexts, func(c serviceContext) bool { return c.Name == name })
	if f.Current == name {
		f.Current = ""
	}
	return nil
}
