package headers

import "testing"

func TestReferer(t *testing.T) {
	const list = "https://front.example/subscriptions/s/providers/N.S/things"
	for link, want := range map[string]string{
		list:                             list,
		list + "?api-version=1":          list + "?api-version=1",
		list + "?api-version=1&&$skip=1": list + "?api-version=1&&$skip=1",
		list + "?api-version=1&$skipToken=a%2Fb&$top=2":   list + "?api-version=1&$top=2",
		list + "?%24SkipToken=a&api-version=1":            list + "?api-version=1",
		list + "?api-version=1&$skiptoken=a&$skipToken=b": list + "?api-version=1",
		list + "?$skipToken=a":                            list,
		list + "?$skipToken":                              list,
		list + "?api-version=1&$filter=a%zz&$skipToken=a": list + "?api-version=1&$filter=a%zz",
		list + "?api-version=1&x$skipToken=a":             list + "?api-version=1&x$skipToken=a",
	} {
		if got := Referer(link); got != want {
			t.Errorf("%s: %s, want %s", link, got, want)
		}
	}
}
