#include "orchestration/instant.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace piorch::orchestration {

namespace {

// Days since 1970-01-01 of a proleptic Gregorian date, and back (H. Hinnant's
// algorithms): no locale, no global state of the C library.
std::int64_t days_from_civil(std::int64_t y, unsigned m, unsigned d) {
  y -= m <= 2;
  const auto era = (y >= 0 ? y : y - 399) / 400;
  const auto yoe = static_cast<unsigned>(y - era * 400);
  const auto doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const auto doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

struct civil {
  int year;
  unsigned month, day;
};

civil civil_from_days(std::int64_t z) {
  z += 719468;
  const auto era = (z >= 0 ? z : z - 146096) / 146097;
  const auto doe = static_cast<unsigned>(z - era * 146097);
  const auto yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const auto doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const auto mp = (5 * doy + 2) / 153;
  const auto month = mp < 10 ? mp + 3 : mp - 9;
  const auto year = static_cast<std::int64_t>(yoe) + era * 400 + (month <= 2);
  return {static_cast<int>(year), month, doy - (153 * mp + 2) / 5 + 1};
}

constexpr std::int64_t day_ms = 24LL * 3600 * 1000;
constexpr std::int64_t last_ms = 253402300799999; // 9999-12-31T23:59:59.999Z

} // namespace

std::string to_text(instant t) {
  const std::int64_t ms = std::clamp<std::int64_t>(t.time_since_epoch().count(), 0, last_ms);
  const auto date = civil_from_days(ms / day_ms);
  const auto in_day = static_cast<int>(ms % day_ms);
  std::array<char, 64> out;
  const int n = std::snprintf(out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                              date.year, date.month, date.day, in_day / 3600000,
                              in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
  return std::string(out.data(), static_cast<std::size_t>(n));
}

std::optional<instant> instant_from(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd.dddZ";
  if (text.size() != form.size())
    return {};
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
      return {};
  const auto number = [&](std::size_t at, std::size_t n) {
    unsigned v = 0;
    for (std::size_t i = at; i < at + n; ++i)
      v = v * 10 + static_cast<unsigned>(text[i] - '0');
    return v;
  };
  const unsigned year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const unsigned hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59)
    return {};
  const auto days = days_from_civil(year, month, day);
  const auto back = civil_from_days(days); // the 31st of June comes back as the 1st of July
  if (back.month != month || back.day != day || days < 0)
    return {};
  return instant{std::chrono::milliseconds{days * day_ms + hour * 3600000LL + minute * 60000LL +
                                           second * 1000LL + number(20, 3)}};
}

} // namespace piorch::orchestration
