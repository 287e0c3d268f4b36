package evidence

import "testing"

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"nginx version: nginx/1.22.1\n":                                  "1.22.1",
		"HAProxy version 2.6.12-1+deb12u4 2026/10/17":                    "2.6.12",
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":           "15.18",
		"wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\n": "4.1.0",
		"go1.26.8": "1.26.8",
		"":         unknown,
	} {
		if got := version(said); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
}
