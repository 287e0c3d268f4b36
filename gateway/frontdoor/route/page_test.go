package route

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// numbers is a source of 0..n-1 of which keep says which are shown.
func numbers(n int, keep func(int) bool, reads *int) ListSource[int] {
	return ListSource[int]{
		Read: func(after string, limit int) ([]int, error) {
			*reads++
			first := 0
			if after != "" {
				last, err := strconv.Atoi(after)
				if err != nil {
					return nil, err
				}
				first = last + 1
			}
			var read []int
			for i := first; i < min(n, first+limit); i++ {
				read = append(read, i)
			}
			return read, nil
		},
		Key:  func(i int) string { return fmt.Sprint(i) },
		Keep: keep,
		Show: func(i int) any { return i },
	}
}

// A page ends where its elements are too large together, and holds one that is too large alone.
func TestPagesOfLargeElements(t *testing.T) {
	for _, keep := range []func(int) bool{nil, func(i int) bool { return i%5 != 0 }} {
		for _, size := range []int{PageBytes / 3, PageBytes, 2 * PageBytes} {
			reads := 0
			source := numbers(40, keep, &reads)
			all := source.Read
			source.Bytes = func(int) int { return size }
			source.Read = func(after string, limit int) ([]int, error) { return all(after, min(limit, (PageBytes+size-1)/size)) }
			var want, got []int
			for i := range 40 {
				if keep == nil || keep(i) {
					want = append(want, i)
				}
			}
			for p := (Page{Top: LargestPage}); ; {
				elements, rest, err := source.readPage(p)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(elements); n > 1 && n*size > PageBytes {
					t.Errorf("a page of %d elements of %d bytes", n, size)
				}
				for _, e := range elements {
					got = append(got, e.(int))
				}
				if p.After = rest; rest == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("elements of %d bytes: %v", size, got)
			}
		}
	}
}

func TestPagesLoseNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		keep func(int) bool
	}{
		{"nothing", 0, func(int) bool { return true }},
		{"all", 25, func(int) bool { return true }},
		{"a multiple of the page", 30, func(int) bool { return true }},
		{"every seventh", 200, func(i int) bool { return i%7 == 0 }},
		{"none", 50, func(int) bool { return false }},
		{"one far out", 3 * MostExamined, func(i int) bool { return i == 2*MostExamined+5 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []int
			for i := range c.n {
				if c.keep(i) {
					want = append(want, i)
				}
			}
			for _, top := range []int{1, 10, 1000} {
				var got []int
				reads, pages := 0, 0
				for p := (Page{Top: top}); ; pages++ {
					elements, rest, err := numbers(c.n, c.keep, &reads).readPage(p)
					if err != nil {
						t.Fatal(err)
					}
					if len(elements) > top {
						t.Fatalf("a page of %d holds %d", top, len(elements))
					}
					for _, e := range elements {
						got = append(got, e.(int))
					}
					if rest == "" {
						break
					}
					if p.After = rest; pages > c.n {
						t.Fatal("the walk does not end")
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("$top %d: %d elements, want %d", top, len(got), len(want))
				}
				if len(want) > 0 && len(want)%top == 0 && pages+1 > len(want)/top+c.n/MostExamined {
					t.Errorf("$top %d: %d pages for %d elements", top, pages+1, len(want))
				}
			}
		})
	}
}
