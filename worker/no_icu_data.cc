// SPDX-License-Identifier: Apache-2.0
// ICU's data without any content, of the static worker, in place of 31 MB: what is used of ICU
// (categories of characters and lower case) is compiled into its code. A test of the static worker
// scores answers with letters beyond ASCII.
#include <unicode/udata.h>
#include <unicode/utypes.h>

#include <cstdint>

extern "C" {

// A table of contents with no entry, in ICU's format "ToCP".
struct IcuDataOfNothing {
  uint16_t header_size;
  uint8_t magic[2];
  UDataInfo info;
  uint8_t padding[8];
  uint32_t entries;
  uint32_t reserved;
  uint32_t end[4];
};

extern const IcuDataOfNothing U_ICUDATA_ENTRY_POINT;
const IcuDataOfNothing U_ICUDATA_ENTRY_POINT = {32,
                                                {0xda, 0x27},
                                                {sizeof(UDataInfo),
                                                 0,
                                                 U_IS_BIG_ENDIAN,
                                                 U_CHARSET_FAMILY,
                                                 U_SIZEOF_UCHAR,
                                                 0,
                                                 {'T', 'o', 'C', 'P'},
                                                 {1, 0, 0, 0},
                                                 {0, 0, 0, 0}},
                                                {},
                                                0,
                                                0,
                                                {}};
}
