package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	fetchTimeout  = 30 * time.Second // all of a call, its redirects and its wait for a turn
	fetchMost     = 5 << 20          // bytes of a body, after decompression
	fetchChars    = 20_000           // code points, where the model says nothing
	maxFetchChars = 200_000
	maxHops       = 5
	maxURL        = 8192
)

const webFetchSchema = `{"properties":{` +
	`"maxChars":{"default":20000,"description":"How many characters of the text to return.","maximum":200000,"minimum":1,"type":"integer"},` +
	`"url":{"description":"An absolute http or https URL.","type":"string"}` +
	`},"required":["url"],"type":"object"}`

type webFetchArgs struct {
	URL      string `json:"url"`
	MaxChars *int   `json:"maxChars"`
}

func webFetchTool() *tool {
	return &tool{name: "web_fetch", description: prompt("web_fetch.md"), schema: json.RawMessage(webFetchSchema), anywhere: true, run: webFetch}
}

// webFetch gets a page and returns its text.
func webFetch(ctx context.Context, e env, args json.RawMessage) (output, error) {
	var in webFetchArgs
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	most := fetchChars
	if in.MaxChars != nil {
		most = *in.MaxChars
	}
	switch {
	case strings.TrimSpace(in.URL) == "":
		return output{}, errors.New("the argument url is missing")
	case most < 1 || most > maxFetchChars:
		return output{}, fmt.Errorf("maxChars is %d, must be 1 to %d", most, maxFetchChars)
	}
	at, err := fetchURL(strings.TrimSpace(in.URL))
	if err != nil {
		return output{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.web.most, fmt.Errorf("it took longer than %g s", e.web.most.Seconds()))
	defer cancel()
	p, err := e.web.get(ctx, at)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return output{}, err
	}
	return p.output(e, most), nil
}

// page is what a server answered.
type page struct {
	url       *url.URL // after redirects
	status    string   // "200 OK"
	kind      string   // its media type
	title     string
	text      string
	long      bool   // the body was longer than fetchMost
	elsewhere string // where it redirects to, on another host
}

// output is the page for the model: most code points of it at most.
func (p page) output(e env, most int) output {
	at := oneLine(p.url.String(), 1000)
	if p.elsewhere != "" {
		return output{text: fmt.Sprintf("[%s · %s]\nThis redirects to another host, which was not asked: %s\nTo read it, call web_fetch with that URL.", p.status, at, oneLine(p.elsewhere, maxURL))}
	}
	head := fmt.Sprintf("[%s · %s · %s]\n", p.status, oneLine(p.kind, 100), at)
	if p.title != "" {
		head += "Title: " + oneLine(p.title, 300) + "\n"
	}
	if p.long {
		head += fmt.Sprintf("[the page has more than %d MiB, of which the first are here]\n", fetchMost>>20)
	}
	if strings.TrimSpace(p.text) == "" {
		return output{text: head + "[no text]"}
	}
	shown, cut := clip(p.text, most)
	if room := max(e.room()-len(head), 0); len(shown) > room {
		shown, cut = clipEnd(shown[:room]), true
	}
	if !cut {
		return output{text: head + "\n" + shown}
	}
	out := output{stored: e.shelf.put(p.text)}
	rest := "the rest is not kept"
	if out.stored != "" {
		rest = fmt.Sprintf("read_result with id %q reads all of it", out.stored)
	}
	out.text = fmt.Sprintf("%s\n%s\n[agentls cut it here, after %d of %d characters; %s]", head, shown, utf8.RuneCountInString(shown), utf8.RuneCountInString(p.text), rest)
	return out
}
