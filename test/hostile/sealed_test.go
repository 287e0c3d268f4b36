package hostile

import (
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/binary"
	"os"
	"testing"

	_ "modernc.org/sqlite" // to read a stolen database

	"portico/test/harness"
)

// An attacker has the database, for example a backup. No key in it decrypts the texts
// of clients and providers.
func TestTheDatabaseDoesNotHoldItsKey(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Settings: "batch: {immediate: 1}\n"})
	w.end(t, alice, w.begin(t, alice, batchOf(3, thing+api)))
	w.Portico.Stop(t)

	db, err := sql.Open("sqlite", w.Portico.Database)
	harness.OK(t, err)
	defer db.Close()
	secrets := rowsOf(t, db, `SELECT secret, secret, 0 FROM secrets`)
	answers := rowsOf(t, db, `SELECT job, answer, part FROM request_parts`)
	if len(answers) != 3 {
		t.Fatalf("%d answers", len(answers))
	}
	for _, s := range secrets {
		block, err := aes.NewCipher(s.text)
		if err != nil {
			continue
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		harness.OK(t, err)
		for _, a := range answers {
			place := binary.BigEndian.AppendUint64(a.key, uint64(a.number))
			if plain, err := aead.Open(nil, nil, a.text, place); err == nil {
				t.Fatalf("a key in the database opens %s", plain)
			}
		}
	}
	info, err := os.Stat(w.Portico.Database + ".key")
	harness.OK(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v", info.Mode())
	}
}

type row struct {
	key, text []byte
	number    int64
}

func rowsOf(t *testing.T, db *sql.DB, query string) (all []row) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	harness.OK(t, err)
	defer rows.Close()
	for rows.Next() {
		var r row
		harness.OK(t, rows.Scan(&r.key, &r.text, &r.number))
		all = append(all, r)
	}
	harness.OK(t, rows.Err())
	return all
}
