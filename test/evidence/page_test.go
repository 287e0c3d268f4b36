package evidence

import "testing"

func TestTable(t *testing.T) {
	want := "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
	if got := Table([]string{"a", "b"}, [][]string{{"1", "2"}, {"3", "4"}}); got != want {
		t.Errorf("%q", got)
	}
}

func TestOnlyWhatIsInThePlaceIsReplaced(t *testing.T) {
	p := Place{File: "page.md", Subject: "Figures", Command: "make figures"}
	old := "# Head\n" + p.begin() + "\nold\n" + p.end() + "\nfoot\n"
	want := "# Head\n" + p.begin() + "\n\nnew\n\n" + p.end() + "\nfoot\n"
	if got, err := p.replace(old, "new\n"); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, broken := range []string{"", p.begin(), p.end() + p.begin(), old + old} {
		if got, err := p.replace(broken, "new"); err == nil {
			t.Errorf("%q: %q", broken, got)
		}
	}
}
