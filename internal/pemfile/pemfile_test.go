package pemfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"portico/test/harness"
)

func TestCertificatesReadsABundle(t *testing.T) {
	folder := t.TempDir()
	one, two := harness.NewCertificate(t, t.TempDir()), harness.NewCertificate(t, t.TempDir())
	var bundle []byte
	for _, file := range []string{one.AuthorityFile, one.KeyFile, two.AuthorityFile} { // a key among them is no certificate
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bundle = append(bundle, text...)
	}
	path := write(t, folder, "bundle.pem", string(bundle))
	all, err := Certificates(path)
	if err != nil || len(all) != 2 || all[0].Equal(all[1]) {
		t.Fatalf("%d certificates, %v", len(all), err)
	}
	if _, err := Pool(path); err != nil {
		t.Error(err)
	}
}

func TestCertificatesRefusesWhatIsNone(t *testing.T) {
	folder := t.TempDir()
	key := harness.NewCertificate(t, t.TempDir()).KeyFile
	if _, err := Certificates(key); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("a key: %v", err)
	}
	if _, err := Certificates(write(t, folder, "text.pem", "x")); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("a text: %v", err)
	}
	if _, err := Certificates(write(t, folder, "broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")); err == nil {
		t.Error("a broken certificate was read")
	}
	if _, err := Certificates(filepath.Join(folder, "absent.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestPairRefusesTheKeyOfAnother(t *testing.T) {
	one, two := harness.NewCertificate(t, t.TempDir()), harness.NewCertificate(t, t.TempDir())
	pair, err := Pair(one.CertFile, one.KeyFile)
	if err != nil || pair.Leaf == nil {
		t.Fatalf("%+v, %v", pair, err)
	}
	if _, err := Pair(one.CertFile, two.KeyFile); err == nil {
		t.Error("the key of another certificate was taken")
	}
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
