package results

import (
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// oneEncoder compresses with one encoder throughout. The library makes one for every page: 3 MiB each, half a gigabyte for the single row of a points
// file.
type oneEncoder struct {
	compress.Codec
	encoder *zstd.Encoder
}

// EncodeLevel has one level, whatever is asked for.
func (c oneEncoder) EncodeLevel(dst, src []byte, _ int) []byte {
	return c.encoder.EncodeAll(src, dst[:0])
}

// useOneEncoder tells the library, which keeps its codecs in a variable, before the first file is written.
var useOneEncoder = sync.OnceValue(func() error {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return err
	}
	const window = 1 << 20 // of a page, whose size is about that at most
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithZeroFrames(true))
	if err != nil {
		return err
	}
	compress.RegisterCodec(compress.Codecs.Zstd, oneEncoder{codec, encoder})
	return nil
})
