// SPDX-License-Identifier: Apache-2.0
#include "qa/results/languages.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace concur::imports {
namespace {

// ISO 639-1 with ISO 639-3; where data sets name a single language of a macrolanguage, that too.
constexpr absl::string_view kCodes =
    "aa:aar ab:abk af:afr ak:aka am:amh an:arg ar:ara,arb as:asm av:ava ay:aym,ayr az:aze,azj "
    "ba:bak be:bel bg:bul bi:bis bm:bam bn:ben bo:bod br:bre bs:bos ca:cat ce:che co:cos cs:ces "
    "cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng eo:epo es:spa et:est,ekk "
    "eu:eus fa:fas,pes ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gn:grn,gug "
    "gu:guj gv:glv ha:hau he:heb hi:hin hr:hrv ht:hat hu:hun hy:hye ia:ina id:ind ig:ibo is:isl "
    "it:ita iu:iku ja:jpn jv:jav ka:kat kg:kon ki:kik kk:kaz kl:kal km:khm kn:kan ko:kor ks:kas "
    "ku:kur,kmr kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lv:lav,lvs "
    "mg:mlg,plt mi:mri mk:mkd ml:mal mn:mon,khk mr:mar ms:msa,zsm mt:mlt my:mya nb:nob ne:nep,npi "
    "nl:nld nn:nno no:nor,nob ny:nya oc:oci om:orm,gaz or:ori,ory os:oss pa:pan pl:pol ps:pus,pbt "
    "pt:por qu:que,quy rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag "
    "si:sin sk:slk sl:slv sm:smo sn:sna so:som sq:sqi,als sr:srp ss:ssw st:sot su:sun sv:swe "
    "sw:swa,swh ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso "
    "tt:tat tw:twi ug:uig uk:ukr ur:urd uz:uzb,uzn vi:vie wo:wol xh:xho yi:yid,ydd yo:yor "
    "zh:zho,cmn "
    "zu:zul";

using CodesByName = std::map<std::string, std::vector<std::string>, std::less<>>;

const CodesByName& KnownCodes() {
  static const auto& known = *new CodesByName([] {
    CodesByName codes;
    for (const absl::string_view pair : absl::StrSplit(kCodes, ' ')) {
      const std::vector<std::string> parts = absl::StrSplit(pair, absl::ByAnyChar(":,"));
      codes[parts[0]].assign(parts.begin() + 1, parts.end());
      for (size_t i = 1; i < parts.size(); ++i) {
        codes.emplace(parts[i], std::vector<std::string>{parts[i]});
      }
    }
    return codes;
  }());
  return known;
}

// "Latn"
bool IsScript(absl::string_view part) {
  return part.size() == 4 && absl::ascii_isupper(static_cast<unsigned char>(part[0])) &&
         std::all_of(part.begin() + 1, part.end(),
                     [](unsigned char c) { return absl::ascii_islower(c); });
}

}  // namespace

std::vector<std::vector<std::string>> LanguagesInName(absl::string_view subset) {
  std::vector<std::vector<std::string>> languages;
  const std::vector<absl::string_view> parts = absl::StrSplit(subset, absl::ByAnyChar("-_"));
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto known = KnownCodes().find(parts[i]);
    if (known != KnownCodes().end()) {
      languages.push_back(known->second);
    } else if (parts[i].size() == 3 && i + 1 < parts.size() && IsScript(parts[i + 1])) {
      languages.push_back({std::string(parts[i])});
    }
  }
  return languages;
}

}  // namespace concur::imports
