#include <array>

#include "data/sample/lexicon.h"

namespace weft::sample {
namespace {

constexpr uint32_t kLiving = kPerson | kAnimal;
constexpr uint32_t kObjects = kThing | kTransport | kOpening;

// english, comparative, superlative | common, feminine, neuter, plural, definite, comparative, superlative | kinds
constexpr auto kAdjectives = std::to_array<Adjective>({
    {"big", "bigger", "biggest", "stor", "stor", "stort", "store", "store", "større", "største",
     kAnimal | kFood | kObjects | kPlace},
    {"small", "smaller", "smallest", "liten", "lita", "lite", "små", "lille", "mindre", "minste",
     kAnimal | kFood | kObjects | kPlace},
    {"old", "older", "oldest", "gammel", "gammel", "gammelt", "gamle", "gamle", "eldre", "eldste",
     kLiving | kText | kObjects | kPlace},
    {"young", "younger", "youngest", "ung", "ung", "ungt", "unge", "unge", "yngre", "yngste", kLiving},
    {"new", "newer", "newest", "ny", "ny", "nytt", "nye", "nye", "nyere", "nyeste", kText | kObjects | kPlace},
    {"good", "better", "best", "god", "god", "godt", "gode", "gode", "bedre", "beste", kText | kFood | kEvent | kPlace},
    {"bad", "worse", "worst", "dårlig", "dårlig", "dårlig", "dårlige", "dårlige", "dårligere", "dårligste",
     kText | kFood | kEvent},
    {"red", nullptr, nullptr, "rød", "rød", "rødt", "røde", "røde", nullptr, nullptr, kObjects | kPlace},
    {"blue", nullptr, nullptr, "blå", "blå", "blått", "blå", "blå", nullptr, nullptr, kObjects},
    {"green", nullptr, nullptr, "grønn", "grønn", "grønt", "grønne", "grønne", nullptr, nullptr, kObjects},
    {"yellow", nullptr, nullptr, "gul", "gul", "gult", "gule", "gule", nullptr, nullptr, kObjects | kPlace},
    {"white", nullptr, nullptr, "hvit", "hvit", "hvitt", "hvite", "hvite", nullptr, nullptr,
     kObjects | kPlace | kAnimal},
    {"black", nullptr, nullptr, "svart", "svart", "svart", "svarte", "svarte", nullptr, nullptr, kObjects | kAnimal},
    {"brown", nullptr, nullptr, "brun", "brun", "brunt", "brune", "brune", nullptr, nullptr, kObjects | kAnimal},
    {"grey", nullptr, nullptr, "grå", "grå", "grått", "grå", "grå", nullptr, nullptr, kObjects | kAnimal},
    {"expensive", "more expensive", "most expensive", "dyr", "dyr", "dyrt", "dyre", "dyre", "dyrere", "dyreste",
     kFood | kThing | kTransport | kPlace},
    {"cheap", "cheaper", "cheapest", "billig", "billig", "billig", "billige", "billige", "billigere", "billigste",
     kFood | kThing | kTransport | kPlace},
    {"beautiful", "more beautiful", "most beautiful", "vakker", "vakker", "vakkert", "vakre", "vakre", "vakrere",
     "vakreste", kLiving | kThing | kPlace},
    {"ugly", "uglier", "ugliest", "stygg", "stygg", "stygt", "stygge", "stygge", "styggere", "styggeste",
     kThing | kPlace},
    {"heavy", "heavier", "heaviest", "tung", "tung", "tungt", "tunge", "tunge", "tyngre", "tyngste",
     kThing | kTransport | kOpening},
    {"long", "longer", "longest", "lang", "lang", "langt", "lange", "lange", "lengre", "lengste", kText | kEvent},
    {"short", "shorter", "shortest", "kort", "kort", "kort", "korte", "korte", "kortere", "korteste", kText | kEvent},
    {"tall", "taller", "tallest", "høy", "høy", "høyt", "høye", "høye", "høyere", "høyeste", kPerson},
    {"strong", "stronger", "strongest", "sterk", "sterk", "sterkt", "sterke", "sterke", "sterkere", "sterkeste",
     kLiving},
    {"rich", "richer", "richest", "rik", "rik", "rikt", "rike", "rike", "rikere", "rikeste", kPerson},
    {"poor", "poorer", "poorest", "fattig", "fattig", "fattig", "fattige", "fattige", "fattigere", "fattigste",
     kPerson},
    {"kind", "kinder", "kindest", "snill", "snill", "snilt", "snille", "snille", "snillere", "snilleste", kLiving},
    {"wise", "wiser", "wisest", "klok", "klok", "klokt", "kloke", "kloke", "klokere", "klokeste", kLiving},
    {"happy", "happier", "happiest", "glad", "glad", "glad", "glade", "glade", "gladere", "gladeste", kLiving},
    {"tired", nullptr, nullptr, "trøtt", "trøtt", "trøtt", "trøtte", "trøtte", nullptr, nullptr, kLiving},
    {"angry", "angrier", "angriest", "sint", "sint", "sint", "sinte", "sinte", "sintere", "sinteste", kLiving},
    {"hungry", nullptr, nullptr, "sulten", "sulten", "sultent", "sultne", "sultne", nullptr, nullptr, kLiving},
    {"sick", nullptr, nullptr, "syk", "syk", "sykt", "syke", "syke", nullptr, nullptr, kLiving},
    {"famous", nullptr, nullptr, "berømt", "berømt", "berømt", "berømte", "berømte", nullptr, nullptr,
     kPerson | kText | kPlace},
    {"brave", "braver", "bravest", "modig", "modig", "modig", "modige", "modige", "modigere", "modigste", kLiving},
    {"funny", "funnier", "funniest", "morsom", "morsom", "morsomt", "morsomme", "morsomme", "morsommere", "morsomste",
     kPerson | kText | kEvent},
    {"boring", nullptr, nullptr, "kjedelig", "kjedelig", "kjedelig", "kjedelige", "kjedelige", nullptr, nullptr,
     kText | kEvent},
    {"important", "more important", "most important", "viktig", "viktig", "viktig", "viktige", "viktige", "viktigere",
     "viktigste", kText | kEvent},
    {"interesting", nullptr, nullptr, "interessant", "interessant", "interessant", "interessante", "interessante",
     nullptr, nullptr, kText | kEvent | kPlace},
    {"useful", "more useful", "most useful", "nyttig", "nyttig", "nyttig", "nyttige", "nyttige", "nyttigere",
     "nyttigste", kText | kThing},
    {"dangerous", "more dangerous", "most dangerous", "farlig", "farlig", "farlig", "farlige", "farlige", "farligere",
     "farligste", kAnimal | kPlace},
    {"quiet", nullptr, nullptr, "stille", "stille", "stille", "stille", "stille", nullptr, nullptr, kPlace | kPerson},
    {"modern", nullptr, nullptr, "moderne", "moderne", "moderne", "moderne", "moderne", nullptr, nullptr,
     kPlace | kTransport},
    {"clean", "cleaner", "cleanest", "ren", "ren", "rent", "rene", "rene", "renere", "reneste", kObjects},
    {"dirty", nullptr, nullptr, "skitten", "skitten", "skittent", "skitne", "skitne", nullptr, nullptr, kObjects},
    {"fresh", "fresher", "freshest", "fersk", "fersk", "ferskt", "ferske", "ferske", "ferskere", "ferskeste", kFood},
    {"sweet", "sweeter", "sweetest", "søt", "søt", "søtt", "søte", "søte", "søtere", "søteste", kFood},
    {"fast", "faster", "fastest", "rask", "rask", "raskt", "raske", "raske", "raskere", "raskeste",
     kTransport | kLiving},
    {"slow", "slower", "slowest", "langsom", "langsom", "langsomt", "langsomme", "langsomme", "langsommere",
     "langsomste", kTransport | kLiving},
    {"strange", "stranger", "strangest", "rar", "rar", "rart", "rare", "rare", "rarere", "rareste",
     kLiving | kText | kThing | kEvent},
});

constexpr auto kNames = std::to_array<Pair>({{"Anna", "Anna"},
                                             {"Ole", "Ole"},
                                             {"Kari", "Kari"},
                                             {"Per", "Per"},
                                             {"Ingrid", "Ingrid"},
                                             {"Erik", "Erik"},
                                             {"Nora", "Nora"},
                                             {"Jakob", "Jakob"},
                                             {"Maria", "Maria"},
                                             {"Henrik", "Henrik"}});

constexpr auto kPlaces = std::to_array<Pair>({{"at home", "hjemme"},
                                              {"at school", "på skolen"},
                                              {"at work", "på jobben"},
                                              {"in the kitchen", "på kjøkkenet"},
                                              {"in the garden", "i hagen"},
                                              {"in the forest", "i skogen"},
                                              {"in the park", "i parken"},
                                              {"in the town", "i byen"},
                                              {"in the shop", "i butikken"},
                                              {"in the library", "på biblioteket"},
                                              {"in the mountains", "på fjellet"},
                                              {"in the street", "i gata"},
                                              {"in the living room", "i stua"},
                                              {"at the station", "på stasjonen"},
                                              {"at the airport", "på flyplassen"},
                                              {"at the hotel", "på hotellet"},
                                              {"at the hospital", "på sykehuset"},
                                              {"on the beach", "på stranda"},
                                              {"on the island", "på øya"},
                                              {"on the farm", "på gården"},
                                              {"on the train", "på toget"},
                                              {"by the lake", "ved innsjøen"},
                                              {"behind the house", "bak huset"},
                                              {"under the tree", "under treet"}});

constexpr auto kTowns = std::to_array<Pair>({{"in Oslo", "i Oslo"},
                                             {"in Bergen", "i Bergen"},
                                             {"in Tromsø", "i Tromsø"},
                                             {"in Stavanger", "i Stavanger"},
                                             {"in London", "i London"},
                                             {"in Norway", "i Norge"}});

constexpr auto kManners =
    std::to_array<Pair>({{"quickly", "fort"}, {"slowly", "sakte"}, {"quietly", "stille"}, {"alone", "alene"}});

constexpr auto kContainers = std::to_array<Container>({{"cup", "cups", "en", "kopp", "kopper"},
                                                       {"glass", "glasses", "et", "glass", "glass"},
                                                       {"bottle", "bottles", "ei", "flaske", "flasker"}});

constexpr auto kDrinks =
    std::to_array<Pair>({{"coffee", "kaffe"}, {"tea", "te"}, {"milk", "melk"}, {"water", "vann"}, {"juice", "juice"}});

constexpr auto kWeathers = std::to_array<Pair>({{"is raining", "regner"},
                                                {"is snowing", "snør"},
                                                {"is cold", "er kaldt"},
                                                {"is warm", "er varmt"},
                                                {"is dark", "er mørkt"}});

constexpr auto kMonths = std::to_array<Pair>({{"January", "januar"},
                                              {"February", "februar"},
                                              {"March", "mars"},
                                              {"April", "april"},
                                              {"May", "mai"},
                                              {"June", "juni"},
                                              {"July", "juli"},
                                              {"August", "august"},
                                              {"September", "september"},
                                              {"October", "oktober"},
                                              {"November", "november"},
                                              {"December", "desember"}});

constexpr auto kWeekdays = std::to_array<Pair>({{"Monday", "mandag"},
                                                {"Tuesday", "tirsdag"},
                                                {"Wednesday", "onsdag"},
                                                {"Thursday", "torsdag"},
                                                {"Friday", "fredag"},
                                                {"Saturday", "lørdag"},
                                                {"Sunday", "søndag"}});

constexpr auto kHabits = std::to_array<Pair>({{"every day", "hver dag"},
                                              {"every morning", "hver morgen"},
                                              {"every evening", "hver kveld"},
                                              {"every week", "hver uke"},
                                              {"every summer", "hver sommer"},
                                              {"every year", "hvert år"},
                                              {"in the morning", "om morgenen"},
                                              {"in the evening", "om kvelden"},
                                              {"in winter", "om vinteren"},
                                              {"on Sundays", "på søndager"}});

constexpr auto kMoments = std::to_array<Pair>(
    {{"now", "nå"}, {"right now", "akkurat nå"}, {"today", "i dag"}, {"at the moment", "for øyeblikket"}});

constexpr auto kPastTimes = std::to_array<Pair>({{"yesterday", "i går"},
                                                 {"this morning", "i morges"},
                                                 {"last week", "forrige uke"},
                                                 {"last month", "forrige måned"},
                                                 {"last year", "i fjor"},
                                                 {"last Monday", "forrige mandag"},
                                                 {"last Friday", "forrige fredag"},
                                                 {"an hour ago", "for en time siden"},
                                                 {"two days ago", "for to dager siden"},
                                                 {"three weeks ago", "for tre uker siden"},
                                                 {"five years ago", "for fem år siden"}});

constexpr auto kFutureTimes = std::to_array<Pair>({{"tomorrow", "i morgen"},
                                                   {"tonight", "i kveld"},
                                                   {"soon", "snart"},
                                                   {"next week", "neste uke"},
                                                   {"next month", "neste måned"},
                                                   {"next year", "neste år"},
                                                   {"next Tuesday", "neste tirsdag"},
                                                   {"next Saturday", "neste lørdag"},
                                                   {"in an hour", "om en time"},
                                                   {"in two days", "om to dager"}});

constexpr auto kPresentAdverbs = std::to_array<Pair>(
    {{"often", "ofte"}, {"always", "alltid"}, {"never", "aldri"}, {"usually", "vanligvis"}, {"rarely", "sjelden"}});

constexpr auto kPerfectAdverbs =
    std::to_array<Pair>({{"already", "allerede"}, {"just", "nettopp"}, {"never", "aldri"}, {"finally", "endelig"}});

}  // namespace

std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Pair> names() { return kNames; }
std::span<const Pair> places() { return kPlaces; }
std::span<const Pair> towns() { return kTowns; }
std::span<const Container> containers() { return kContainers; }
std::span<const Pair> drinks() { return kDrinks; }
std::span<const Pair> weathers() { return kWeathers; }
std::span<const Pair> manners() { return kManners; }
std::span<const Pair> months() { return kMonths; }
std::span<const Pair> weekdays() { return kWeekdays; }
std::span<const Pair> habits() { return kHabits; }
std::span<const Pair> moments() { return kMoments; }
std::span<const Pair> past_times() { return kPastTimes; }
std::span<const Pair> future_times() { return kFutureTimes; }
std::span<const Pair> present_adverbs() { return kPresentAdverbs; }
std::span<const Pair> perfect_adverbs() { return kPerfectAdverbs; }

}  // namespace weft::sample
