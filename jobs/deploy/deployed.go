package deploy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"portico/jobs/deploy/secret"
	"portico/jobs/deploy/whatif"
	"portico/template/expr"
)

// deployed is what is kept of a resource that a deployment has made, for the next
// what-if. No answer shows it. A secret is kept as a digest with a key of its own, so
// that the records of two resources do not show that their secrets are equal.
type deployed struct {
	Key []byte `json:"key"`
	// By is the digest of the name of the caller who sent the secrets.
	By       string          `json:"by,omitempty"`
	Sent     json.RawMessage `json:"sent"`
	Answered json.RawMessage `json:"answered"`
}

// deployedOf is the record of a resource that a caller has sent, and of the answer that says that
// it is finished; nil where that cannot be compared with later ones.
func deployedOf(caller string, sent expr.Value, answer []byte) []byte {
	stands := valueOf(answer)
	if stands.Is(expr.Null) {
		return nil
	}
	record := deployed{Key: make([]byte, sha256.Size)}
	_, _ = rand.Read(record.Key) // never fails
	digest := digestBy(record.Key)
	record.By = digest([]byte(caller))
	record.Sent = secret.Keep(sent, digest).AppendJSON(nil)
	record.Answered = secret.In(sent).Value(stands).AppendJSON(nil) // as what stands is compared
	text, _ := json.Marshal(record)                                 // of JSON
	return text
}

// Last reads the record of a resource that a deployment has made: what it sent, and what its
// provider answered in the end, with the digest that stands for secrets in it. The digest is nil
// for another caller than the one who sent the secrets: it would tell which guess of them is right.
func Last(record []byte, caller string) (*whatif.Record, secret.Digest, error) {
	var r deployed
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, nil, fmt.Errorf("read what was deployed last: %w", err)
	}
	last, digest := &whatif.Record{Sent: valueOf(r.Sent), Answered: valueOf(r.Answered)}, digestBy(r.Key)
	if r.By != digest([]byte(caller)) {
		return last, nil, nil
	}
	return last, digest, nil
}

func digestBy(key []byte) secret.Digest {
	return func(secret []byte) string {
		h := hmac.New(sha256.New, key)
		h.Write(secret)
		return base64.RawStdEncoding.EncodeToString(h.Sum(nil))
	}
}
