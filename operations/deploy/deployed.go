package deploy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"portico/operations/deploy/secret"
	"portico/operations/deploy/whatif"
	"portico/template/expr"
)

// deployed is what is kept of a resource that a deployment has made, for the next
// what-if. No answer shows it. A secret is kept as a digest with a key of its own, so
// that the records of two resources do not show that their secrets are equal.
type deployed struct {
	Key      []byte          `json:"key"`
	Sent     json.RawMessage `json:"sent"`
	Answered json.RawMessage `json:"answered"`
}

// deployedOf is the record of a resource that was sent, and of the answer that says that it is
// finished; nil where that cannot be compared with later ones.
func deployedOf(sent expr.Value, answer []byte) []byte {
	stands := valueOf(answer)
	if stands.Is(expr.Null) {
		return nil
	}
	record := deployed{Key: make([]byte, sha256.Size)}
	_, _ = rand.Read(record.Key) // never fails
	record.Sent = secret.Keep(sent, digestBy(record.Key)).AppendJSON(nil)
	record.Answered = secret.In(sent).Value(stands).AppendJSON(nil) // as what stands is compared
	text, _ := json.Marshal(record)                                 // of JSON
	return text
}

// Last reads the record of a resource that a deployment has made: what it sent, and what its
// provider answered in the end, with the digest that stands for secrets in it.
func Last(record []byte) (*whatif.Record, secret.Digest, error) {
	var r deployed
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, nil, err
	}
	return &whatif.Record{Sent: valueOf(r.Sent), Answered: valueOf(r.Answered)}, digestBy(r.Key), nil
}

func digestBy(key []byte) secret.Digest {
	return func(secret []byte) string {
		h := hmac.New(sha256.New, key)
		h.Write(secret)
		return base64.RawStdEncoding.EncodeToString(h.Sum(nil))
	}
}
