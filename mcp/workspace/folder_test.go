package workspace

import "testing"

func TestUniqueName(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range []struct{ given, path, want string }{
		{"", "/home/u/lib", "lib"},
		{"", "/srv/lib", "lib~2"},
		{"lib", "/x", "lib~3"},
		{"lib~2", "/y", "lib~2~2"},
		{"front/end", "/z", "front-end"},
		{`a\b:c`, "/z", "a-b-c"},
		{"a\nb\x00", "/z", "ab"},
		{"..", "/srv/up", "up"},
		{"//", "/srv/slashes", "slashes"},
		{" ", "/", "root"},
		{"Größe 2", "/z", "Größe 2"},
	} {
		if got := UniqueName(c.given, c.path, taken); got != c.want {
			t.Errorf("%q at %q is called %q, want %q", c.given, c.path, got, c.want)
		}
	}
}
