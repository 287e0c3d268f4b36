package function_test

import (
	"testing"
	"testing/quick"

	"portico/template/document"
	"portico/template/expr"
	"portico/template/function"
)

// Whatever arguments a function is given, it returns or faults, within its budget.
func FuzzFunctions(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2}, "10.0.0.0/8", int64(3), `{"a":[1,2.5,null,true,{"b":"c"}]}`)
	f.Add(uint8(40), []byte{0, 0, 0, 1}, "{0,5:N2}", int64(-1), `["x","y"]`)
	f.Add(uint8(80), []byte{2, 2}, "2020-01-01", int64(1)<<62, `{"scheme":"https","host":"h","port":1,"path":"/","value":2,"fromEnd":true}`)
	f.Fuzz(func(t *testing.T, at uint8, picks []byte, text string, n int64, json string) {
		d, _ := document.Read([]byte(json), document.Relaxed, "")
		if d == nil || len(picks) > 8 {
			return
		}
		pool := []expr.Value{
			expr.StringOf(text), expr.IntOf(n), d.Root.Value, {}, expr.BoolOf(n > 0), expr.FloatOf(float64(n) / 7),
			expr.StringOf(text).AsSecure(), expr.StringOf(json), expr.IntOf(int64(len(text))), expr.ArrayOf(expr.StringOf(text), expr.IntOf(n), d.Root.Value),
		}
		args := make([]expr.Value, len(picks))
		secret := false
		for i, pick := range picks {
			args[i] = pool[int(pick)%len(pool)]
			secret = secret || args[i].Secure()
		}
		name := function.Names()[int(at)%len(function.Names())]
		env := environment()
		env.Budget = expr.NewBudget(t.Context(), 20_000, 1<<20, 50)
		v, err := expr.Evaluate(expr.Invoke(name, args...), env)
		if err != nil && err.Error() == "" {
			t.Errorf("%s faults without a sentence", name)
		}
		if size := v.Size(); size > 4<<20 {
			t.Errorf("%s made %d bytes of a budget of 1 MiB", name, size)
		}
		if v.Secure() && !secret {
			t.Errorf("%s made a secret of none", name)
		}
		v.JSON()
	})
}

// argument is the library with a function more, which returns a value.
type argument struct {
	library
	value expr.Value
}

func (a argument) Find(namespace, name string) *expr.Function {
	if name == "argument" {
		return &expr.Function{Name: name, Call: func(*expr.Call, []expr.Value) (expr.Value, error) { return a.value, nil }}
	}
	return a.library.Find(namespace, name)
}

// What one function writes, another one reads back.
func TestInversesOfEachOther(t *testing.T) {
	for _, pair := range []string{
		"base64ToString(base64(argument()))", "uriComponentToString(uriComponent(argument()))", "dataUriToString(dataUri(argument()))",
		"join(split(argument(), 'a'), 'a')", "concat(take(argument(), 3), skip(argument(), 3))", "json(string(createArray(argument())))[0]",
	} {
		same := func(text string) bool {
			env := environment()
			env.Library = argument{value: expr.StringOf(text)}
			v, err := evaluate(env, pair)
			return err == nil && v.Text() == text
		}
		if err := quick.Check(same, nil); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
}
