// SPDX-License-Identifier: Apache-2.0
// Tables by the values of an enum: one that leaves a value out does not compile.
#include "base/enum_table.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/error.h"

namespace weft {
namespace {

enum class Fruit : uint8_t { Apple, Pear, Fig };
enum class Lonely { One };

static_assert(enum_size<Fruit>() == 3);
static_assert(enum_size<Lonely>() == 1);

using Weights = EnumTable<Fruit, int>;

// Whether a table can be made of the rows that `kRows` gives.
template <auto kRows>
concept IsTable = requires {
  typename std::integral_constant<int, kRows()[Fruit::Apple]>;
};
static_assert(IsTable<[]() consteval { return Weights{{Fruit::Pear, 2}, {Fruit::Apple, 1}, {Fruit::Fig, 3}}; }>);
static_assert(!IsTable<[]() consteval { return Weights{{Fruit::Pear, 2}, {Fruit::Apple, 1}}; }>);
static_assert(!IsTable<[]() consteval { return Weights{{Fruit::Pear, 2}, {Fruit::Apple, 1}, {Fruit::Pear, 3}}; }>);

// Whether enum_names() accepts this number of names for the fruits.
template <class... Names>
concept NameFruits = requires(Names... names) {
  enum_names<Fruit>(names...);
};
using Name = const char*;
static_assert(NameFruits<Name, Name, Name> && !NameFruits<Name, Name> && !NameFruits<Name, Name, Name, Name>);

TEST(EnumNames, StandBesideTheValuesInTheirOrder) {
  constexpr auto kNames = enum_names<Fruit>("apple", "pear", "fig");
  EXPECT_EQ(kNames[0], std::pair(std::string_view("apple"), Fruit::Apple));
  EXPECT_EQ(kNames[2], std::pair(std::string_view("fig"), Fruit::Fig));
}

TEST(EnumTable, IsLookedUpByValueInAnyOrderOfItsRows) {
  constexpr Weights kWeights = {{Fruit::Fig, 30}, {Fruit::Apple, 150}, {Fruit::Pear, 170}};
  EXPECT_EQ(kWeights[Fruit::Apple], 150);
  EXPECT_EQ(kWeights[Fruit::Pear], 170);
  EXPECT_EQ(kWeights[Fruit::Fig], 30);
}

TEST(EnumTable, ThrowsForANumberThatIsNoValue) {
  constexpr Weights kWeights = {{Fruit::Fig, 30}, {Fruit::Apple, 150}, {Fruit::Pear, 170}};
  EXPECT_THROW(kWeights[Fruit{3}], InternalError);
}

}  // namespace
}  // namespace weft
