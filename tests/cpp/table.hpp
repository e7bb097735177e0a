#pragma once
/// @file
/// Reads the recorded trajectories of tests/data.

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// A CSV file of numbers with a header.
class Table {
 public:
  explicit Table(const std::string& file) {
    const std::string path = std::string(PROPWASH_SOURCE_DIR) + "/tests/data/" + file;
    std::ifstream stream(path);
    if (!stream) throw std::runtime_error("cannot read " + path);
    std::string line;
    std::getline(stream, line);
    std::istringstream header(line);
    for (std::string name; std::getline(header, name, ',');) {
      const std::size_t index = columns_.size();
      columns_[name] = index;
    }
    while (std::getline(stream, line)) {
      std::istringstream cells(line);
      std::vector<double> row;
      for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
      if (row.size() != columns_.size()) throw std::runtime_error("ragged row in " + path);
      rows_.push_back(row);
    }
  }

  std::size_t rows() const { return rows_.size(); }
  double at(std::size_t row, const std::string& column) const {
    return rows_.at(row).at(columns_.at(column));
  }
  /// Three columns, named `prefix` and one of three letters.
  std::vector<double> three(std::size_t row, const std::string& prefix) const {
    return {at(row, prefix + "x"), at(row, prefix + "y"), at(row, prefix + "z")};
  }

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::vector<double>> rows_;
};
