package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"
)

// PlainJSON returns JSON with comments and trailing commas as plain JSON. The
// error says where it is none.
func PlainJSON(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, bom)
	if tooDeep(text) {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	v, err := hujson.Parse(bytes.Clone(text)) // it keeps parts of what it is given
	if err != nil {
		return nil, errors.New(string(bytes.TrimPrefix([]byte(err.Error()), []byte("hujson: "))))
	}
	v.Standardize()
	return v.Pack(), nil
}
