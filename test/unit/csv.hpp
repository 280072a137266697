// Reads the files of test/vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#ifndef FLAKEID_VECTORS
#define FLAKEID_VECTORS "test/vectors"
#endif

class CsvRow {
public:
    CsvRow(const std::vector<std::string>& names, const std::vector<std::string>& values)
    {
        for (size_t i = 0; i < names.size(); i++) {
            cells_[names[i]] = i < values.size() ? values[i] : "";
        }
    }

    const std::string& text(const std::string& name) const
    {
        static const std::string none;
        const auto cell = cells_.find(name);
        EXPECT_NE(cell, cells_.end()) << "no column " << name;
        return cell == cells_.end() ? none : cell->second;
    }

    int64_t number(const std::string& name) const { return std::stoll(text(name)); }

    uint64_t word(const std::string& name) const { return static_cast<uint64_t>(number(name)); }

private:
    std::map<std::string, std::string> cells_;
};

inline std::vector<std::string> split_line(const std::string& line)
{
    std::vector<std::string> cells(1);
    for (const char c : line) {
        if (c == ',') {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

// The rows of a file, which has at least one.
inline std::vector<CsvRow> read_csv(const std::string& name)
{
    const std::string path = std::string(FLAKEID_VECTORS) + "/" + name;
    std::ifstream file(path);
    std::vector<CsvRow> rows;
    std::string line;
    if (std::getline(file, line)) {
        const std::vector<std::string> names = split_line(line);
        while (std::getline(file, line)) {
            rows.emplace_back(names, split_line(line));
        }
    }
    EXPECT_FALSE(rows.empty()) << "no rows in " << path;
    return rows;
}
