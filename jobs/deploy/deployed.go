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

// deployed is the record of a resource that a deployment created, for the next what-if. No
// response shows it. Secrets are stored as digests. Each record has its own key, so that the
// records of two resources do not show that their secrets are equal.
type deployed struct {
	Key []byte `json:"key"`
	// By is the digest of the name of the caller who sent the secrets.
	By       string          `json:"by,omitempty"`
	Sent     json.RawMessage `json:"sent"`
	Answered json.RawMessage `json:"answered"`
}

// deployedOf returns the record of a resource that a caller sent, and of the response that shows
// it finished; nil if that response is not JSON, so that later ones cannot be compared with it.
func deployedOf(caller string, sent expr.Value, answer []byte) []byte {
	answered := valueOf(answer)
	if answered.Is(expr.Null) {
		return nil
	}
	record := deployed{Key: make([]byte, sha256.Size)}
	_, _ = rand.Read(record.Key) // never fails
	digest := digestBy(record.Key)
	record.By = digest([]byte(caller))
	record.Sent = secret.Keep(sent, digest).AppendJSON(nil)
	record.Answered = secret.In(sent).Value(answered).AppendJSON(nil) // masked, as in later comparisons
	text, _ := json.Marshal(record)                                   // of JSON
	return text
}

// Last reads the record of a resource that a deployment created: the body that was sent and the
// provider's last response, with the digest function for its secrets. The function is nil for
// callers other than the one who sent the secrets, as it would let them test guesses.
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
