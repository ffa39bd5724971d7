package llamatest

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

// gguf is a model's file in the making: version 3 of the format, little
// endian, every tensor of 32-bit floats. The file is a header, the metadata,
// a description of each tensor and, aligned, their values.
type gguf struct {
	meta, tensors, data bytes.Buffer
	metas, count        uint64
}

const (
	ggufVersion = 3
	ggufAlign   = 32 // the default of general.alignment
)

// The types of metadata that are used here.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// put appends values; binary.Write fails only for types of no fixed size.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)))
			b.WriteString(s)
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
}

func (g *gguf) set(key string, kind uint32, value any) {
	put(&g.meta, key, kind, value)
	g.metas++
}

func (g *gguf) number(key string, v int)       { g.set(key, typeUint32, uint32(v)) }
func (g *gguf) float(key string, v float32)    { g.set(key, typeFloat32, v) }
func (g *gguf) flag(key string, v bool)        { g.set(key, typeBool, v) }
func (g *gguf) text(key, v string)             { g.set(key, typeString, v) }
func (g *gguf) floats(key string, v []float32) { g.list(key, typeFloat32, len(v), v) }
func (g *gguf) ints(key string, v []int32)     { g.list(key, typeInt32, len(v), v) }

func (g *gguf) list(key string, kind uint32, n int, v any) {
	put(&g.meta, key, uint32(typeArray), kind, uint64(n), v)
	g.metas++
}

func (g *gguf) texts(key string, v []string) {
	put(&g.meta, key, uint32(typeArray), uint32(typeString), uint64(len(v)))
	for _, s := range v {
		put(&g.meta, s)
	}
	g.metas++
}

// tensor adds one of rows × columns, or of columns alone where rows is 0.
// values are row by row.
func (g *gguf) tensor(name string, rows, columns int, values []float32) {
	if len(values) != max(rows, 1)*columns {
		panic("tensor " + name + " has the wrong size")
	}
	put(&g.tensors, name)
	if rows == 0 {
		put(&g.tensors, uint32(1), uint64(columns))
	} else {
		put(&g.tensors, uint32(2), uint64(columns), uint64(rows)) // the innermost dimension first
	}
	const float32s = 0
	put(&g.tensors, uint32(float32s), uint64(g.data.Len()))
	raw := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
	}
	g.data.Write(raw)
	g.data.Write(make([]byte, -g.data.Len()&(ggufAlign-1)))
	g.count++
}

// WriteTo implements io.WriterTo.
func (g *gguf) WriteTo(w io.Writer) (int64, error) {
	var out bytes.Buffer
	out.WriteString("GGUF")
	put(&out, uint32(ggufVersion), g.count, g.metas)
	out.Write(g.meta.Bytes())
	out.Write(g.tensors.Bytes())
	out.Write(make([]byte, -out.Len()&(ggufAlign-1)))
	out.Write(g.data.Bytes())
	return out.WriteTo(w)
}
