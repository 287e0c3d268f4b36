package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"portico/arm"
	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

func of(texts ...string) secret.Secrets {
	var values []expr.Value
	for _, t := range texts {
		values = append(values, expr.StringOf(t).AsSecure())
	}
	return secret.In(values...)
}

func TestSecretsAreHiddenInEachForm(t *testing.T) {
	t.Parallel()
	const word = `p<w"d/+?é&ü1`
	quoted, err := json.Marshal(word)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	escaped := url.QueryEscape(word)
	for name, form := range map[string]string{
		"plain": word, "JSON": string(quoted), "JSON in JSON": string(twice), "query": escaped, "path": url.PathEscape(word),
		"lower-case escapes": strings.NewReplacer("%3C", "%3c", "%2F", "%2f", "%2B", "%2b", "%3F", "%3f", "%C3", "%c3", "%A9", "%a9", "%BC", "%bc").Replace(escaped),
	} {
		if got := of(word).Text("x" + form + "y"); !strings.Contains(got, secret.Mask) || strings.Contains(got, "w") || !strings.HasPrefix(got, "x") || !strings.HasSuffix(got, "y") {
			t.Errorf("%s: %s becomes %s", name, form, got)
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for _, around := range []string{"", "u:", "us:", "use:"} {
			got := of(word).Text(encoding.EncodeToString([]byte(around + word + around)))
			if !strings.Contains(got, secret.Mask) || len(got) > len(secret.Mask)+2*len("use:")*4/3+4 {
				t.Errorf("%s", got)
			}
		}
	}
}

func TestShortSecretsAreHiddenAsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ secret, text, want string }{
		{"a", "a bad name: 'a', a-b", "******* bad name: '*******', *******-b"},
		{"1", "line 1, column 11", "line *******, column 11"},
		{"é", "é née", "******* née"},
		{"!", "no!", "no!"},
		{"!", "no: !", "no: *******"},
		{"abc", "abcd abc", "abcd *******"},
		{"abcd", "abcde", "*******e"},
	} {
		if got := of(c.secret).Text(c.text); got != c.want {
			t.Errorf("%q of %q: %q", c.secret, c.text, got)
		}
	}
	if got := of().Text("as it is"); got != "as it is" {
		t.Error(got)
	}
}

func TestSecretsOfValues(t *testing.T) {
	t.Parallel()
	part := expr.ObjectOf(expr.Member{Name: "pin", Value: expr.IntOf(482910)}, expr.Member{Name: "on", Value: expr.BoolOf(true)},
		expr.Member{Name: "words", Value: expr.ArrayOf(expr.StringOf("hidden"), expr.StringOf("hidden-more"))})
	s := secret.In(expr.ObjectOf(expr.Member{Name: "open", Value: expr.StringOf("shown")}, expr.Member{Name: "of", Value: part.AsSecure()}))
	v := expr.ArrayOf(expr.IntOf(482910), expr.IntOf(48), expr.BoolOf(true), expr.ObjectOf(expr.Member{Name: "m", Value: expr.StringOf("shown hidden-more hidden 482910")}))
	if got := s.Value(v).JSON(); got != `["*******",48,true,{"m":"shown ******* ******* *******"}]` {
		t.Error(got)
	}
}

// Too many bytes of secrets are not looked for: then nothing is shown in which one may be.
func TestTooManySecrets(t *testing.T) {
	t.Parallel()
	s := of(strings.Repeat("secret", 1<<18))
	if got := s.Text("any text"); got != secret.Mask {
		t.Error(got)
	}
	if got := s.Value(expr.ObjectOf(expr.Member{Name: "a", Value: expr.IntOf(1)})).JSON(); got != `"*******"` {
		t.Error(got)
	}
	said := &arm.Error{Status: 400, Code: "Quoted", Message: "secret", Target: "secret", Details: []arm.Error{{Code: "secret"}}}
	if got := s.Error(said); got.Code != "Quoted" || got.Status != 400 || strings.Contains(string(got.Body()), "ecretsecret") || got.Target != "" || got.Details != nil {
		t.Errorf("%s", got.Body())
	}
}

// The values of questions that a value still asks may be secrets.
func TestSecretsOfQuestions(t *testing.T) {
	t.Parallel()
	q := expr.PendingOf(expr.Invoke("listKeys", expr.StringOf("/a"), expr.ObjectOf(expr.Member{Name: "of", Value: expr.StringOf("hidden").AsSecure()}))).AsSecure()
	if got := secret.In(expr.ArrayOf(q)).Text("hidden, /a"); got != "*******, /a" {
		t.Error(got)
	}
}

func TestSecretsOfErrors(t *testing.T) {
	t.Parallel()
	const of = `"x":{"hidden":["hid\u0064en","shown",482910,{"a":"of hidden"}]}`
	var fault arm.Error
	if err := json.Unmarshal([]byte(`{"code":"hidden","message":"of hidden","target":"hidden","additionalInfo":[{"type":"hidden","info":{`+of+`}}],"hidden":1,"innererror":{`+of+`},
		"details":[{"code":"C","message":"hidden","target":"t","details":[{"target":"hidden","innererror":{`+of+`},"additionalInfo":[{"type":"T","info":"hidden"}]}]}]}`), &fault); err != nil {
		t.Fatal(err)
	}
	fault.Status = 400
	before := string(fault.Body())
	s := secret.In(expr.StringOf("hidden").AsSecure(), expr.IntOf(482910).AsSecure())
	got := s.Error(&fault)
	text := string(got.Body())
	if strings.Contains(text, "hidden") || strings.Contains(text, "482910") || strings.Contains(text, `\u`) || got.Status != 400 || strings.Count(text, "shown") != 3 || string(fault.Body()) != before {
		t.Error(text)
	}
	if s.Error(nil) != nil {
		t.Error("no error becomes one")
	}
}

// What is cut of an error does not leave a part of a secret.
func TestSecretsOfLongErrors(t *testing.T) {
	t.Parallel()
	const word = "a-long-secret-of-many-letters"
	for i := range len(word) {
		got := of(word).Error(&arm.Error{Code: "C", Message: strings.Repeat("x", i) + strings.Repeat(word, arm.ErrorBytes/len(word)*2)})
		if strings.Contains(got.Message, word[:shortestPart]) || len(got.Body()) > arm.ErrorBytes+len(`{"error":}`) {
			t.Fatalf("%d: %.99s", i, got.Message)
		}
	}
}

const shortestPart = 4
