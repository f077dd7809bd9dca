#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "placement/import/importer.h"

#include "base/result.h"

namespace optile::placement {
namespace {

using base::invalid;

constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr int kGzip = 15 + 16;  // windowBits of zlib: the largest window, gzip alone

}  // namespace

base::Result<std::string> unpacked(std::string bytes) {
  const bool packed = bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
  if (!packed) return bytes;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) {
    return base::Error{base::ErrorKind::kInternal, "zlib cannot be started"};
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::string chunk(kChunk, '\0');
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int state = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, 0, chunk.size() - stream.avail_out);
    if (text.size() > kMaxFileBytes) return invalid("unpacked it is larger than 256 MiB");
    if (state == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      if (inflateReset(&stream) != Z_OK) break;  // another member follows
      continue;
    }
    if (state == Z_BUF_ERROR || (state == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return invalid("the compressed file is truncated after " + std::to_string(text.size()) +
                     " bytes of content");
    }
    if (state != Z_OK) break;
  }
  return invalid("the compressed file is damaged after " + std::to_string(text.size()) +
                 " bytes of content");
}

base::Result<std::string> read_whole_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rb"),
      [](std::FILE* one) { return one != nullptr ? std::fclose(one) : 0; });
  if (file == nullptr) return base::errno_error("cannot open " + path, errno);
  std::string bytes;
  std::string chunk(kChunk, '\0');
  for (;;) {
    const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get());
    bytes.append(chunk, 0, got);
    if (bytes.size() > kMaxFileBytes) return invalid(path + " is larger than 256 MiB");
    if (got == chunk.size()) continue;
    if (std::ferror(file.get()) != 0) return base::errno_error("cannot read " + path, errno);
    break;
  }
  base::Result<std::string> text = unpacked(std::move(bytes));
  if (!text.ok()) return invalid(path + ": " + text.message());
  return text;
}

}  // namespace optile::placement
