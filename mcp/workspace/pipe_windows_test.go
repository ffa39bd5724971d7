package workspace

import "testing"

// There is no pipe in a file's place here.
func makePipe(*testing.T, string) {}
