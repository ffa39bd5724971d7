package mcptest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// compressor writes an answer with gzip, what is flushed at once.
type compressor struct {
	http.ResponseWriter
	z    *gzip.Writer // nil: the client does not take it, or nothing was written
	on   bool
	made bool
}

// compressed compresses what is written to w, if the client takes it.
func compressed(w http.ResponseWriter, r *http.Request) *compressor {
	return &compressor{ResponseWriter: w, on: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")}
}

func (c *compressor) begin() {
	if c.on && !c.made {
		c.Header().Set("Content-Encoding", "gzip")
		c.z = gzip.NewWriter(c.ResponseWriter)
	}
	c.made = true
}

func (c *compressor) WriteHeader(status int) {
	if status == http.StatusOK {
		c.begin()
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressor) Write(p []byte) (int, error) {
	c.begin()
	var to io.Writer = c.ResponseWriter
	if c.z != nil {
		to = c.z
	}
	return to.Write(p)
}

// FlushError is what [http.ResponseController] calls.
func (c *compressor) FlushError() error {
	if c.z != nil {
		if err := c.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// end writes what is left.
func (c *compressor) end() {
	if c.z != nil {
		_ = c.z.Close()
	}
}
