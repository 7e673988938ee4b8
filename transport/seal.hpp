// Addresses as others get them: bytes behind a mark and a checksum, because what stands behind a seam trusts
// what it is given, and may crash on anything else.
#pragma once

#include <string>
#include <string_view>

namespace muster {

std::string seal(std::string_view mark, std::string_view bytes);

/// The bytes within. Throws Error, which calls it `what`, if it is not sealed with this mark, or damaged.
std::string unseal(std::string_view mark, std::string_view sealed, const std::string& what);

}  // namespace muster
